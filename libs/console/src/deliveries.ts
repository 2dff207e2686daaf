import { api, dataOf, type Schemas } from './api'
import type { Tone } from './parts/badge'
import { span } from './parts/format'

export type Delivery = Schemas['Delivery']
export type RetrievedDelivery = Schemas['DeliveryWithAttempts']
export type Attempt = Schemas['Attempt']
type AttemptError = NonNullable<Attempt['error']>
/** How an attempt ended. */
type Outcome = Pick<Attempt, 'status' | 'error'> & Partial<Pick<Attempt, 'reason'>>

/** The statuses as filters name them. */
export const STATUS_WORDS: Record<Delivery['status'], string> = {
  pending: 'Waiting: new, or failed with a try to come',
  delivered: 'Delivered',
  exhausted: 'Failed (exhausted)',
  held: 'Paused (held)',
  cancelled: 'Cancelled',
}

const TONES: Record<Delivery['status'], Tone> = {
  pending: 'warn',
  delivered: 'good',
  exhausted: 'bad',
  held: 'held',
  cancelled: 'calm',
}

/** The state of a delivery in words: one that failed and will be tried again is not a new one. */
export const stateOf = ({
  status,
  attempt_count,
  last_error,
}: Pick<Delivery, 'status' | 'attempt_count' | 'last_error'>): { word: string; tone: Tone } => {
  if (status !== 'pending') return { word: STATUS_WORDS[status], tone: TONES[status] }
  if (attempt_count === 0) return { word: 'New', tone: 'calm' }
  return { word: last_error ? 'Failed, will retry' : 'Sending again', tone: 'warn' }
}

// Test sends are about a lead that does not exist.
const SAMPLE = '00000000-0000-4000-8000-000000000000'

export const isTest = ({ lead_reference }: Pick<Delivery, 'lead_reference'>): boolean =>
  lead_reference === SAMPLE

/** Why an attempt failed, by its error. */
export const REASONS: Record<AttemptError, string> = {
  blocked: 'Blocked: webhooks are not sent to private or local addresses',
  dns: 'Host not found: the name has no address',
  http_status: 'The receiver answered with another status than 2xx',
  network: 'The connection failed',
  protocol: 'The response is not valid HTTP',
  proxy: 'The proxy that webhooks are sent through made no connection',
  refused: 'Connection refused: nothing is listening there',
  reset: 'The receiver closed the connection without a response',
  smtp_status: 'The mail server refused the message',
  timeout: 'Timed out: the receiver took too long',
  tls: 'TLS failed: the certificate is not valid, or there is none',
  unconfirmed: 'The mail server did not confirm the message',
  unreachable: 'Unreachable: no route leads to the address',
  unsendable: 'The message can not be sent',
}

const STATUS_REASONS: [RegExp, string][] = [
  [/^30[12378]$/, 'redirects are not followed'],
  [/^40[13]$/, 'the receiver refuses the request: check its signature check or login'],
  [/^40[45]$/, 'nothing takes webhooks at this path'],
  [/^410$/, 'the receiver says that the address is gone'],
  [/^413$/, 'the receiver takes no body of this size'],
  [/^429$/, 'the receiver is asked too often'],
  [/^5/, 'the receiver failed'],
]

/** How an attempt ended, in words. */
export const reasonOf = ({ status, error, reason: given }: Outcome): string => {
  if (error === null) return `${status} Success`
  if (given) return given.replace(/\.$/, '')
  if (error !== 'http_status') return REASONS[error]
  const [, reason = 'only 2xx is success'] =
    STATUS_REASONS.find(([pattern]) => pattern.test(String(status))) ?? []
  return `${status}: ${reason}`
}

export const outcomeOf = (attempt: Attempt): string =>
  `${reasonOf(attempt)}, after ${span(attempt.duration_ms)}`

export const retrieveDelivery = async (id: number, signal?: AbortSignal): Promise<RetrievedDelivery> =>
  (await dataOf(api().GET('/manage/deliveries/{id}', { params: { path: { id } }, signal }))).data

/** The newest deliveries that the filters match, or those that follow the cursor; no page and no count, which would be slow. */
export const listDeliveries = async (
  filters: Record<string, string>,
  signal?: AbortSignal,
): Promise<Schemas['DeliveryPage']> => {
  // The API refuses unknown filters and values.
  const query: object = { cursor: '', ...filters }
  return dataOf(api().GET('/manage/deliveries', { params: { query }, signal }))
}
