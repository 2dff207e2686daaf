import { EVENT_TYPES } from '@leadwire/contracts/event-types'
import { signal } from '@preact/signals'
import { api, readData, type Schemas } from './api'
import { STATUS_LABELS } from './leads'
import type { Tone } from './parts/badge'
import { type Counts, formatCount, formatSuccessRate } from './parts/format'

export type Endpoint = Schemas['WebhookEndpoint']
export type EventType = Endpoint['events'][number]
type Health = Schemas['WebhookEndpointHealth']
type Hour = Schemas['WebhookEndpointHour']
export type WatchedEndpoint = Endpoint & { health: Health }
/** An endpoint with its health and the progress of its recovery. */
export type ShownEndpoint = Schemas['RetrievedWebhookEndpoint'] & { health: Health }

/**
 * A new secret, which the API shows only once. The endpoint's page keeps it until the user leaves the page.
 */
export const revealed = signal<{ endpointId: number; secret: string; note: string }>()

/** Returns the label of an event type, such as "Lead created". */
export const labelEvent = (type: EventType): string => {
  const words = type.replace(/[._]/g, ' ')
  return words[0]!.toUpperCase() + words.slice(1)
}

export const EVENT_OPTIONS = EVENT_TYPES.map((type): [EventType, string] => [type, labelEvent(type)])

export const LEADS_LABELS: Record<Endpoint['leads'], string> = {
  all: 'Live and test leads',
  live: 'Live leads only',
  test: 'Test leads only',
}

const describeList = (what: string, values: string[] = []) =>
  values.length > 0 ? [`${what} ${values.join(' or ')}`] : []

/** Describes a filter, such as "Status Open or Sold. Postcode SW1A." */
export const describeFilter = ({
  status,
  referrer,
  postcode,
  user_email,
}: NonNullable<Endpoint['filter']>): string =>
  [
    ...describeList(
      'Status',
      status?.map((one) => STATUS_LABELS[one]),
    ),
    ...describeList('Referrer', referrer),
    ...describeList('Postcode', postcode),
    ...describeList('Assigned to', user_email),
  ]
    .map((part) => `${part}.`)
    .join(' ')

/** Returns the name of an endpoint: its description, or its URL without the scheme. */
export const nameEndpoint = ({ description, url }: Pick<Endpoint, 'description' | 'url'>): string =>
  description || url.replace(/^https?:\/\//, '')

export const listEndpoints = async (signal?: AbortSignal): Promise<Endpoint[]> =>
  (await readData(api().GET('/manage/webhook-endpoints', { signal }))).data

// The health to show for an endpoint that is missing in the health response, because the endpoint was created
// after that response.
const NO_HEALTH = { last_success_at: null, pending: 0, held: 0, exhausted: 0, hours: [] }

/** Loads all endpoints with their health, oldest first. */
export const loadEndpoints = async (signal?: AbortSignal): Promise<WatchedEndpoint[]> => {
  const [endpoints, health] = await Promise.all([
    listEndpoints(signal),
    readData(api().GET('/manage/webhook-endpoint-health', { signal })),
  ])
  const byId = new Map(health.data.map((one) => [one.endpoint_id, one]))
  return endpoints.map((endpoint) => ({
    ...endpoint,
    health: byId.get(endpoint.id) ?? { ...NO_HEALTH, endpoint_id: endpoint.id },
  }))
}

/** Loads one endpoint with its health. */
export const loadEndpoint = async (id: number, signal?: AbortSignal): Promise<ShownEndpoint> => {
  const [{ data: endpoint }, health] = await Promise.all([
    readData(api().GET('/manage/webhook-endpoints/{id}', { params: { path: { id } }, signal })),
    readData(api().GET('/manage/webhook-endpoint-health', { signal })),
  ])
  const own = health.data.find(({ endpoint_id }) => endpoint_id === id)
  return { ...endpoint, health: own ?? { ...NO_HEALTH, endpoint_id: id } }
}

export const sumHours = (hours: Counts[]): Counts => ({
  succeeded: hours.reduce((sum, { succeeded }) => sum + succeeded, 0),
  failed: hours.reduce((sum, { failed }) => sum + failed, 0),
})

/**
 * Returns the counts of the latest hour with attempts. The counts of a whole day would hide a new failure for
 * hours.
 */
const countLatestHour = (hours: Hour[]): Counts =>
  sumHours(
    hours
      .filter(({ succeeded, failed }) => succeeded + failed > 0)
      .toSorted((one, other) => Date.parse(other.hour) - Date.parse(one.hour))
      .slice(0, 1),
  )

export interface Verdict {
  word: string
  tone: Tone
  /** The reason for the verdict. */
  because: string
  /** The sort key of lists. The worst endpoint has the lowest rank. */
  rank: number
}

/** Judges the health of an endpoint by the success rate of the latest hour with attempts. */
export const judgeEndpoint = ({ enabled, disabled_reason, health }: WatchedEndpoint): Verdict => {
  const latest = countLatestHour(health.hours)
  const all = latest.succeeded + latest.failed
  const rate = latest.succeeded / all
  const because =
    all === 0
      ? 'No attempts in 24 hours'
      : `${formatSuccessRate(latest)} of ${formatCount(all, 'attempt')} succeeded`
  if (!enabled && disabled_reason === 'failing')
    return { word: 'Disabled: every attempt failed', tone: 'bad', because, rank: 1 }
  if (!enabled) return { word: 'Disabled', tone: 'calm', because, rank: 3 }
  if (all === 0) return { word: 'No traffic', tone: 'calm', because, rank: 4 }
  // No delivery is waiting or exhausted, so the latest attempts must have succeeded, although many earlier
  // attempts in this hour failed.
  if (rate < 0.95 && health.pending + health.exhausted === 0)
    return { word: 'Recovering', tone: 'warn', because, rank: 2 }
  if (rate < 0.5) return { word: 'Failing', tone: 'bad', because, rank: 0 }
  if (rate < 0.95) return { word: 'Unsteady', tone: 'warn', because, rank: 2 }
  return { word: 'Healthy', tone: 'good', because, rank: 5 }
}

/** Returns the path of the list of an endpoint's deliveries with a status. */
export const renderDeliveriesPath = (id: number, status = ''): string =>
  `/deliveries?endpoint_id=${id}${status && `&status=${status}`}`
