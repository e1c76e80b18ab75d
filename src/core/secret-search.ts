// Finds many literals in a stream of bytes with one table look-up per byte, whatever their number.

export type Literal = {
  bytes: Uint8Array
  /** A piece of it may be a piece of a secret: to be held back. */ hold: boolean
}

export type Search = {
  /** Column of a byte in the table. */
  columns: Uint8Array
  width: number
  /** Rows of the table: at `row + column` stands the next row. A state is its row divided by `width`. */
  next: Uint32Array
  /** Rows from here on end a literal. */
  firstEnd: number
  /** Indices of the literals that end in a state. */
  ends: readonly (readonly number[])[]
  /** How many of the last bytes may be the beginning of a literal that is to be held. */
  held: Uint8Array
}

type Node = {
  children: Map<number, Node>
  ends: number[]
  fail: Node
  depth: number
  hold: boolean
  state: number
}

/** Literals of at most 255 bytes. */
export function makeSearch(literals: readonly Literal[]): Search {
  const nodes = trieOf(literals)
  // States that end a literal come last, so that one comparison tells them.
  const ordered = [
    ...nodes.filter(node => node.ends.length === 0),
    ...nodes.filter(node => node.ends.length > 0),
  ]
  ordered.forEach((node, state) => (node.state = state))
  const { columns, width } = columnsOf(literals)
  const next = new Uint32Array(ordered.length * width)
  // By depth: a node's fallback has its row before it needs it.
  for (const node of nodes) {
    const row = node.state * width
    if (node.depth > 0) next.copyWithin(row, node.fail.state * width, node.fail.state * width + width)
    for (const [byte, child] of node.children) next[row + (columns[byte] ?? 0)] = child.state * width
  }
  return {
    columns,
    width,
    next,
    firstEnd: ordered.findIndex(node => node.ends.length > 0) * width,
    ends: ordered.map(node => node.ends),
    held: Uint8Array.from(ordered, heldIn),
  }
}

/** All nodes, by depth; each knows its fallback, and ends what its fallback ends. The root is state 0. */
function trieOf(literals: readonly Literal[]): Node[] {
  const root = nodeAt(0)
  root.fail = root
  literals.forEach(({ bytes, hold }, index) => {
    let node = root
    for (const byte of bytes) {
      node.hold ||= hold
      const child = node.children.get(byte) ?? nodeAt(node.depth + 1)
      node.children.set(byte, child)
      node = child
    }
    node.ends.push(index)
  })
  const nodes = [root]
  for (let at = 0; at < nodes.length; at++) {
    const node = nodes[at] as Node
    for (const [byte, child] of node.children) {
      child.fail = node === root ? root : fallback(node.fail, byte, root)
      child.ends.push(...child.fail.ends)
      nodes.push(child)
    }
  }
  return nodes
}

function nodeAt(depth: number): Node {
  const node = { children: new Map(), ends: [], depth, hold: false, state: 0 } as unknown as Node
  node.fail = node
  return node
}

function fallback(from: Node, byte: number, root: Node): Node {
  let node = from
  while (node !== root && !node.children.has(byte)) node = node.fail
  return node.children.get(byte) ?? root
}

function heldIn(node: Node): number {
  let at = node
  while (at.depth > 0 && !at.hold) at = at.fail
  return at.depth
}

/** Bytes that stand in no literal share column 0. */
function columnsOf(literals: readonly Literal[]) {
  const columns = new Uint8Array(256)
  let width = 1
  for (const { bytes } of literals) for (const byte of bytes) if (columns[byte] === 0) columns[byte] = width++
  // 255 is as far as a byte counts; a 256th column would need all bytes in use.
  return { columns, width }
}
