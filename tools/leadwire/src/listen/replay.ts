import type { Leadwire } from '@leadwire/client'
import { serviceSignature, standardSignature } from '@leadwire/webhook-receiver'
import type { Arrival } from './arrival'

/** What was sent for a delivery, as an attempt of now with the given secret sends it. */
export const fetchDelivery = async ({ api }: Leadwire, id: number, secret: string): Promise<Arrival> => {
  const found = await api.GET('/manage/deliveries/{id}', { params: { path: { id } } })
  const { request } = found.data!.data
  if (!request) throw new Error(`Delivery ${id} has nothing to send any more: its lead was erased.`)
  const at = new Date()
  const body = Buffer.from(request.body)
  const stamp = { id: request.headers['webhook-id']!, timestamp: String(Math.floor(at.getTime() / 1000)) }
  const headers = {
    ...request.headers,
    'X-SERVICE-Signature': serviceSignature(body, secret),
    'webhook-timestamp': stamp.timestamp,
    'webhook-signature': standardSignature(body, stamp, secret),
  }
  // The API shows no values of the trace and of the endpoint's own headers.
  const rawHeaders = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [name, value] : [],
  )
  return { at, rawHeaders, body }
}
