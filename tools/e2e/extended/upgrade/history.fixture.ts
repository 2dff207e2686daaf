import { eventually, gate, type Receiver } from '@leadwire/test-kit'
import type { Answer, RequestOptions } from '../../support/client'
import { PNG } from '../../support/samples'
import { LEAD, type Lead, type Tenant } from '../../support/stage'

type Delivery = { id: number; endpoint_id: number; status: string; attempt_count: number }

const file = (name: string, fileName: string) => ({
  multipart: [
    ...(name ? [{ name: 'name', value: name }] : []),
    { name: 'file', value: PNG, fileName, type: 'image/png' },
  ],
})

const QUOTES = (image_id: number) => [
  {
    status: 'complete',
    items: [
      {
        product_style_id: 7,
        name: 'Bay',
        price: 120000,
        format: 'range',
        hidden: 0,
        status: 'active',
        options: { width: 1200, glass: 'clear' },
        product_style: { sku: 'BAY', name: 'Bay', product: { name: 'Window' } },
        image_id,
      },
    ],
  },
]

/** Lists requests to send with an idempotency key, once before the upgrade and once after it. */
const keyedRequests = (reference: string, userId: number): [path: string, options: RequestOptions][] => [
  ['/leads', { json: { ...LEAD, name: 'Once' } }],
  ['/manage/leads', { json: { ...LEAD, name: 'Once, by hand', value: 5 } }],
  [
    `/leads/${reference}/appointments`,
    { json: { notify: false, user_id: userId, date: '01/02/2027 10:30' } },
  ],
  [`/leads/${reference}/callbacks`, { json: { notify: false, user_id: userId, date: '01/02/2027 11:30' } }],
  [`/leads/${reference}/attachments`, file('Front', 'front.png')],
]

const createKey = (path: string) => ({ 'idempotency-key': `once-${path}` })

/**
 * Creates an endpoint and a lead, and waits until the delivery has `status`. Calls `after` during the first
 * attempt, because the delivery would otherwise use up its retries while a busy machine runs `after`.
 */
const bring = async (
  tenant: Tenant,
  { status, answer, after }: { status: string; answer: number; after?: (id: number) => Promise<unknown> },
): Promise<Receiver> => {
  const { receiver, id } = await tenant.listen()
  const { opened, open } = gate()
  receiver.answerWith({ status: answer, after: opened })
  await tenant.createLead({ name: `A lead whose delivery is ${status}` })
  await eventually(() => expect(receiver.requests.length).toBeGreaterThan(0))
  await after?.(id)
  open()
  // Also waits until every attempt is recorded, because the record of an attempt changes the delivery.
  await eventually(async () => {
    const deliveries = await tenant.send<Delivery[]>('GET', `/manage/deliveries?endpoint_id=${id}`)
    const shown = deliveries.map((delivery) => [delivery.status, delivery.attempt_count])
    expect(shown).toEqual([[status, receiver.requests.length]])
  })
  // Disables the endpoint, so that later leads cause no deliveries to it.
  if (status !== 'cancelled')
    await tenant.send('PATCH', `/manage/webhook-endpoints/${id}`, { json: { enabled: false } })
  return receiver
}

/**
 * Creates a record of each kind with the API. Returns functions that check whether all of them are unchanged.
 */
export const makeHistory = async (tenant: Tenant) => {
  const { send, client, createLead } = tenant
  const path = (id: number) => `/manage/webhook-endpoints/${id}`
  const user = await send<{ id: number }>('POST', '/manage/users', {
    json: { email: 'u@example.com', name: 'U' },
  })
  const image = await send<{ id: number; url: string }>('POST', '/manage/images', file('', 'bay.png'))
  const plain = await createLead({ user_id: user.id })
  const quoted = await send<Lead>('POST', '/manage/leads', { json: { ...LEAD, quotes: QUOTES(image.id) } })
  const keyed: [path: string, options: RequestOptions, first: Answer][] = []
  for (const [path, options] of keyedRequests(plain.reference, user.id))
    keyed.push([path, options, await client.request('POST', path, { ...options, headers: createKey(path) })])
  const attachment = (keyed.at(-1)![2].json as { data: { url: string } }).data

  await bring(tenant, { status: 'delivered', answer: 200 })
  await bring(tenant, { status: 'exhausted', answer: 500 })
  const disable = (id: number) => send('PATCH', path(id), { json: { enabled: false } })
  await bring(tenant, { status: 'held', answer: 500, after: disable })
  await bring(tenant, { status: 'cancelled', answer: 500, after: (id) => client.request('DELETE', path(id)) })

  const deliveries = await send<Delivery[]>('GET', '/manage/deliveries')
  const pages = ['/leads?page=1', '/leads?page=2', `/leads/${plain.reference}`, `/leads/${quoted.reference}`]
  const paths = [...pages, '/manage/users', ...deliveries.map(({ id }) => `/manage/deliveries/${id}`)]
  const files = [image.url, attachment.url].map((url) => new URL(url).pathname)
  const read = async () => {
    const shown = new Map<string, unknown>()
    for (const path of paths) shown.set(path, (await client.request(`GET`, path)).json)
    for (const path of files) shown.set(path, (await client.request('GET', path)).bytes.toString('base64'))
    return shown
  }
  const before = await read()
  return {
    statuses: deliveries.map(({ status }) => status),
    reference: plain.reference,
    /** Expects the same records as before. The records may have additional fields. */
    expectUnchanged: async () => {
      for (const [path, shown] of await read())
        expect({ [path]: shown }).toMatchObject({ [path]: before.get(path) as object })
    },
    /** Repeats the requests with their keys, and expects the stored responses. */
    expectReplays: async () => {
      for (const [path, options, first] of keyed) {
        const again = await client.request('POST', path, { ...options, headers: createKey(path) })
        expect([path, again.status, again.text]).toEqual([path, 200, first.text])
      }
    },
  }
}
