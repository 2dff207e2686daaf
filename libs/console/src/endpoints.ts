import { EVENT_TYPES } from '@leadwire/contracts/event-types'
import { signal } from '@preact/signals'
import { api, dataOf, type Schemas } from './api'
import { STATUS_WORDS } from './leads'
import type { Tone } from './parts/badge'
import { type Counts, counted, successRate } from './parts/format'

export type Endpoint = Schemas['WebhookEndpoint']
export type EventType = Endpoint['events'][number]
type Health = Schemas['WebhookEndpointHealth']
type Hour = Schemas['WebhookEndpointHour']
export type WatchedEndpoint = Endpoint & { health: Health }
/** With what is left of its recovery. */
export type ShownEndpoint = Schemas['RetrievedWebhookEndpoint'] & { health: Health }

/** A new secret, which the API shows once: the page of its endpoint has it until the reader leaves. */
export const revealed = signal<{ endpointId: number; secret: string; note: string }>()

/** A type of event in words, such as Lead created. */
export const eventWords = (type: EventType): string => {
  const words = type.replace('.', ' ')
  return words[0]!.toUpperCase() + words.slice(1)
}

export const EVENT_OPTIONS = EVENT_TYPES.map((type): [EventType, string] => [type, eventWords(type)])

export const LEADS_WORDS: Record<Endpoint['leads'], string> = {
  all: 'Live and test leads',
  live: 'Live leads only',
  test: 'Test leads only',
}

const anyOf = (what: string, values: string[] = []) =>
  values.length > 0 ? [`${what} ${values.join(' or ')}`] : []

/** What a filter asks of a lead, such as Status Open or Sold. Postcode SW1A. */
export const filterWords = ({
  status,
  referrer,
  postcode,
  user_email,
}: NonNullable<Endpoint['filter']>): string =>
  [
    ...anyOf(
      'Status',
      status?.map((one) => STATUS_WORDS[one]),
    ),
    ...anyOf('Referrer', referrer),
    ...anyOf('Postcode', postcode),
    ...anyOf('Assigned to', user_email),
  ]
    .map((part) => `${part}.`)
    .join(' ')

export const nameOf = ({ description, url }: Pick<Endpoint, 'description' | 'url'>): string =>
  description || url.replace(/^https?:\/\//, '')

export const listEndpoints = async (signal?: AbortSignal): Promise<Endpoint[]> =>
  (await dataOf(api().GET('/manage/webhook-endpoints', { signal }))).data

// One that was created between the two answers has no health yet.
const NO_HEALTH = { last_success_at: null, pending: 0, held: 0, exhausted: 0, hours: [] }

/** Every endpoint with its health, oldest first. */
export const watchEndpoints = async (signal?: AbortSignal): Promise<WatchedEndpoint[]> => {
  const [endpoints, health] = await Promise.all([
    listEndpoints(signal),
    dataOf(api().GET('/manage/webhook-endpoint-health', { signal })),
  ])
  const byId = new Map(health.data.map((one) => [one.endpoint_id, one]))
  return endpoints.map((endpoint) => ({
    ...endpoint,
    health: byId.get(endpoint.id) ?? { ...NO_HEALTH, endpoint_id: endpoint.id },
  }))
}

/** One endpoint with its health. */
export const watchEndpoint = async (id: number, signal?: AbortSignal): Promise<ShownEndpoint> => {
  const [{ data: endpoint }, health] = await Promise.all([
    dataOf(api().GET('/manage/webhook-endpoints/{id}', { params: { path: { id } }, signal })),
    dataOf(api().GET('/manage/webhook-endpoint-health', { signal })),
  ])
  const own = health.data.find(({ endpoint_id }) => endpoint_id === id)
  return { ...endpoint, health: own ?? { ...NO_HEALTH, endpoint_id: id } }
}

export const totalOf = (hours: Counts[]): Counts => ({
  succeeded: hours.reduce((sum, { succeeded }) => sum + succeeded, 0),
  failed: hours.reduce((sum, { failed }) => sum + failed, 0),
})

// The latest attempts say how an endpoint is; the day's would call it healthy for hours after it broke.
const latestOf = (hours: Hour[]): Counts =>
  totalOf(
    hours
      .filter(({ succeeded, failed }) => succeeded + failed > 0)
      .toSorted((one, other) => Date.parse(other.hour) - Date.parse(one.hour))
      .slice(0, 1),
  )

export interface Verdict {
  word: string
  tone: Tone
  /** What the word is judged by. */
  because: string
  /** Worst first. */
  rank: number
}

/** The health of an endpoint by the success rate of the latest hour that had attempts. */
export const verdictOf = ({ enabled, disabled_reason, health }: WatchedEndpoint): Verdict => {
  const latest = latestOf(health.hours)
  const all = latest.succeeded + latest.failed
  const rate = latest.succeeded / all
  const because =
    all === 0 ? 'No attempts in 24 hours' : `${successRate(latest)} of ${counted(all, 'attempt')} succeeded`
  if (!enabled && disabled_reason === 'failing')
    return { word: 'Disabled: it only failed', tone: 'bad', because, rank: 1 }
  if (!enabled) return { word: 'Disabled', tone: 'calm', because, rank: 3 }
  if (all === 0) return { word: 'No traffic', tone: 'calm', because, rank: 4 }
  // Nothing waits and nothing is left that failed: the latest attempts succeeded.
  if (rate < 0.95 && health.pending + health.exhausted === 0)
    return { word: 'Recovering', tone: 'warn', because, rank: 2 }
  if (rate < 0.5) return { word: 'Failing', tone: 'bad', because, rank: 0 }
  if (rate < 0.95) return { word: 'Unsteady', tone: 'warn', because, rank: 2 }
  return { word: 'Healthy', tone: 'good', because, rank: 5 }
}

/** The address of an endpoint's deliveries in a state. */
export const deliveriesOf = (id: number, status = ''): string =>
  `/deliveries?endpoint_id=${id}${status && `&status=${status}`}`
