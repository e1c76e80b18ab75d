// Locks between processes: an exclusive SQLite transaction held open. The system frees it the moment its holder dies.

export type Lock = { release(): void }

/** Who holds a lock, as the holder wrote it down: for messages only, it decides nothing. */
export type LockHolder = { pid: number; what?: string; since?: number }

/**
 * Takes the lock `file` (made if missing), or gives undefined when it is still held after `waitMs`. Waiters of one
 * process queue in order. Throws BerthError `state-read-only` or `disk-full` when the file cannot be made.
 */
export async function takeLock(
  file: string,
  options: { waitMs: number; signal?: AbortSignal; holder?: LockHolder },
): Promise<Lock | undefined> {
  throw new Error(`not built yet: ${file} ${options.waitMs}`)
}

/** Who holds `file`, or undefined when nobody left a note. */
export function lockHolder(file: string): LockHolder | undefined {
  throw new Error(`not built yet: ${file}`)
}
