import { api, readData, type Schemas } from './api'
import type { Tone } from './parts/badge'
import { formatDuration } from './parts/format'

export type Delivery = Schemas['Delivery']
export type RetrievedDelivery = Schemas['DeliveryWithAttempts']
export type Attempt = Schemas['Attempt']
type AttemptError = NonNullable<Attempt['error']>
/** The result of an attempt. */
type Outcome = Pick<Attempt, 'status' | 'error'> & Partial<Pick<Attempt, 'reason'>>

/** The labels of the statuses in filters. */
export const STATUS_LABELS: Record<Delivery['status'], string> = {
  pending: 'Waiting: new, or failed and will be retried',
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

/**
 * Returns the label of a delivery's state. The label distinguishes a new delivery from one that will be
 * retried.
 */
export const describeState = ({
  status,
  attempt_count,
  last_error,
}: Pick<Delivery, 'status' | 'attempt_count' | 'last_error'>): { word: string; tone: Tone } => {
  if (status !== 'pending') return { word: STATUS_LABELS[status], tone: TONES[status] }
  if (attempt_count === 0) return { word: 'New', tone: 'calm' }
  return { word: last_error ? 'Failed, will retry' : 'Sending again', tone: 'warn' }
}

// The lead reference in test events. No lead has this reference.
const SAMPLE = '00000000-0000-4000-8000-000000000000'

export const isTest = ({ lead_reference }: Pick<Delivery, 'lead_reference'>): boolean =>
  lead_reference === SAMPLE

/** Explanations of the errors of attempts. */
export const REASONS: Record<AttemptError, string> = {
  blocked: 'Blocked: webhooks are not sent to private or local addresses',
  dns: 'Host not found: the name has no address',
  http_status: 'The receiver responded with a status other than 2xx',
  network: 'The connection failed',
  protocol: 'The response is not valid HTTP',
  proxy: 'The proxy for webhooks could not connect',
  refused: 'Connection refused: nothing listens at this address',
  reset: 'The receiver closed the connection without a response',
  smtp_status: 'The mail server refused the message',
  timeout: 'Timed out: the receiver took too long',
  tls: 'TLS failed: the certificate is missing or invalid',
  unconfirmed: 'The mail server did not confirm the message',
  unreachable: 'Unreachable: no route to the address',
  unsendable: 'The message cannot be sent',
}

const STATUS_REASONS: [RegExp, string][] = [
  [/^30[12378]$/, 'redirects are not followed'],
  [/^40[13]$/, 'the receiver rejected the request: check its signature verification or login'],
  [/^40[45]$/, 'nothing accepts webhooks at this path'],
  [/^410$/, 'the address no longer exists'],
  [/^413$/, 'the body is too large for the receiver'],
  [/^429$/, 'the receiver limits the rate of requests'],
  [/^5/, 'the receiver failed'],
]

/** Describes the result of an attempt, such as "503: the receiver failed". */
export const describeResult = ({ status, error, reason: given }: Outcome): string => {
  if (error === null) return `${status} Success`
  if (given) return given.replace(/\.$/, '')
  if (error !== 'http_status') return REASONS[error]
  const [, reason = 'only 2xx is success'] =
    STATUS_REASONS.find(([pattern]) => pattern.test(String(status))) ?? []
  return `${status}: ${reason}`
}

/** Describes the result of an attempt with its duration. */
export const describeOutcome = (attempt: Attempt): string =>
  `${describeResult(attempt)}, after ${formatDuration(attempt.duration_ms)}`

export const retrieveDelivery = async (id: number, signal?: AbortSignal): Promise<RetrievedDelivery> =>
  (await readData(api().GET('/manage/deliveries/{id}', { params: { path: { id } }, signal }))).data

/**
 * Lists the deliveries that match the filters, newest first, from the cursor on. Always sends a cursor,
 * because the API would otherwise also count the deliveries, which is slow.
 */
export const listDeliveries = async (
  filters: Record<string, string>,
  signal?: AbortSignal,
): Promise<Schemas['DeliveryPage']> => {
  // The type is `object`, because the filters come from the page's URL. The API rejects unknown filters and
  // values.
  const query: object = { cursor: '', ...filters }
  return readData(api().GET('/manage/deliveries', { params: { query }, signal }))
}
