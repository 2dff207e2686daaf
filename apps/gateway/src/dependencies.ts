import type { Logger } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import type { UploadDoor } from './attachments/upload-door'
import type { Authenticate } from './auth/authenticate'
import type { Clients } from './clients'
import type { TakeTurns } from './http/take-turns'
import type { CreateCheck } from './validation/checker'

/** What the routes are made with. */
export interface Dependencies {
  clients: Clients
  authenticate: Authenticate
  takeTurns: TakeTurns
  createCheck: CreateCheck
  uploads: UploadDoor
  /** The most bytes of an import. */
  importMaxBytes: number
  /** Called when an import was created: the worker of this process takes it at once. */
  wakeImports: () => void
  /** How long a client may take nothing of a file that it gets. */
  fileIdleMs: number
  /** The address the API is known by to this request's client, without a slash at its end. */
  addressOf: (request: FastifyRequest) => string
  timeZone: string
  /** Aborted when a drain begins: what has no end of its own ends then. */
  draining: AbortSignal
  /** The clock, in milliseconds since the epoch. */
  now: () => number
  logger: Logger
}
