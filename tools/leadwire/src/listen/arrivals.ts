import type { components, Leadwire } from '@leadwire/client'
import { newTraceparent, VERSION } from '@leadwire/service-kit'
import { serviceSignature, standardSignature } from '@leadwire/webhook-receiver'
import type { Arrival } from './arrival'

export type Event = components['schemas']['Event']

/**
 * Signs a webhook as an attempt at this moment would. Adds the time, the signatures and a trace to the
 * headers in `known`.
 */
const sign = (known: Record<string, string | null>, body: Buffer, secret: string): Arrival => {
  const at = new Date()
  const stamp = { id: known['webhook-id']!, timestamp: String(Math.floor(at.getTime() / 1000)) }
  const headers = {
    ...known,
    'X-SERVICE-Signature': serviceSignature(body, secret),
    'webhook-timestamp': stamp.timestamp,
    'webhook-signature': standardSignature(body, stamp, secret),
    traceparent: newTraceparent(),
  }
  // Omits headers without a value: the API does not show the values of the endpoint's additional headers.
  const rawHeaders = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [name, value] : [],
  )
  return { at, rawHeaders, body }
}

/**
 * Builds the webhook of an event. Returns undefined if its lead was erased. Without `accountKey`, omits
 * X-SERVICE-Account-Key.
 */
export const buildArrival = (
  { id, sequence, lead_version, body }: Event,
  { secret, accountKey }: { secret: string; accountKey: string | undefined },
): Arrival | undefined => {
  if (body === null) return undefined
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `Leadwire/${VERSION}`,
    'X-SERVICE-Signature': null,
    'X-SERVICE-Account-Key': accountKey ?? null,
    'webhook-id': id,
    'webhook-timestamp': null,
    'webhook-signature': null,
    'webhook-sequence': String(sequence),
    'webhook-lead-version': String(lead_version),
  }
  return sign(headers, Buffer.from(JSON.stringify(body)), secret)
}

/** Fetches the webhook of a delivery. Throws if its lead was erased. */
export const fetchDelivery = async ({ api }: Leadwire, id: number, secret: string): Promise<Arrival> => {
  const found = await api.GET('/manage/deliveries/{id}', { params: { path: { id } } })
  const { request } = found.data!.data
  if (!request) throw new Error(`Delivery ${id} has no content: its lead was erased.`)
  return sign(request.headers, Buffer.from(request.body), secret)
}
