// Shapes that several JSON documents share.

import { z } from 'zod'
import { type Holder, type Loss } from './event.ts'

export const time = z.iso.datetime({ precision: 3 })
export const names = z.array(z.string())

export const holder: z.ZodType<Holder> = z.object({
  pid: z.int(),
  command: z.string(),
  startedAt: z.number().optional(),
  whose: z.enum(['ours', 'person', 'unknown']),
  what: z.string(),
}) as z.ZodType<Holder>

export const loss: z.ZodType<Loss> = z.object({
  kind: z.enum([
    'staged',
    'unstaged',
    'untracked',
    'hidden',
    'ignored',
    'commits',
    'operation',
    'nested',
    'submodule',
    'unknown',
  ]),
  count: z.int(),
  examples: names,
})
