// Linux and macOS: processes, folders, sockets and volumes.
import { type Platform } from './platform.ts'

export declare const posix: Platform
