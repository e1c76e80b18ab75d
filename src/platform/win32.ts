// Windows: processes, folders, pipes and volumes.
import { type Platform } from './platform.ts'

export declare const windows: Platform
