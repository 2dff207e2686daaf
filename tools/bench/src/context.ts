import type { FilledAccount, Sql } from '@leadwire/fill'
import type { Receiver } from './load/start-receiver'
import type { Memory } from './measure/memory'
import type { Options } from './options'
import type { Ground } from './process/ground'
import type { Report } from './report/report'
import type { Stack } from './stack/start-stack'

/** What scenarios on the running stack work with. */
export interface Context {
  options: Options
  ground: Ground
  report: Report
  folder: string
  stack: Stack
  receiver: Receiver
  /** The databases of the stack. */
  leads: Sql
  webhooks: Sql
  /** What the stack's image addresses begin with. */
  assetsUrl: string
  /** The services' before the first load. */
  idleMemory: Memory
  mostMemory: () => Memory
  /** An account with leads that have quotes. */
  quoted: () => Promise<FilledAccount>
  /** A thousand accounts without leads (fewer in a quick run). */
  many: () => Promise<FilledAccount[]>
}
