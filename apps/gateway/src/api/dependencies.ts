import type { Logger } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import type { Admission, LimitRequests, ReceiveUpload } from '../admission/admission'
import type { CountRequest } from '../admission/rate-limit'
import type { Authenticate, Recheck } from '../auth/authenticate'
import type { TokenVerifier } from '../auth/token-verifier'
import type { Clients } from '../clients/connect-clients'
import type { CreateCheck } from '../validation/checker'

export interface Dependencies {
  clients: Clients
  verifyToken: TokenVerifier
  authenticate: Authenticate
  recheck: Recheck
  countCapture: CountRequest
  /** What stamps are signed with: new ones with the first. */
  stampSecrets: () => readonly string[]
  /** Leads of a publishable token in a day. */
  captureDaily: number
  limitRequests: LimitRequests
  createCheck: CreateCheck
  admission: Admission
  receiveUpload: ReceiveUpload
  importMaxBytes: number
  /** Called when an import was created, so that the worker of this process starts it at once. */
  wakeImports: () => void
  /** Addresses and CIDR ranges that webhooks come from. */
  webhookSources: readonly string[]
  /** How long a client may take no bytes of its file. */
  fileIdleMs: number
  /** The address by which the request's client knows the API, without a slash at its end. */
  addressOf: (request: FastifyRequest) => string
  timeZone: string
  /** Aborted when a drain starts: endless streams end then. */
  draining: AbortSignal
  /** The clock, in milliseconds since the epoch. */
  now: () => number
  logger: Logger
}
