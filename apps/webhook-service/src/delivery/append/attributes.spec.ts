import { eventBody } from '@leadwire/contracts'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors)
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})

const include = { parts: ['attributes'] }

const buildBodies = (length: number) => {
  const note = 'x'.repeat(length)
  return [{ note }, { note, attributes: { a: 1 } }].map((data) =>
    eventBody('lead.created', JSON.stringify(data)),
  )
}
const arrivedAt = (path: string) =>
  receiver.requests.filter(({ url }) => url.endsWith(path)).map(({ body }) => body.toString())

test.each([
  ['small', 10],
  ['large', 40_000],
])('a change of `include` does not change the %s body of retries', async (what, length) => {
  const accountId = 1_000_000 + length
  const gains = await service.endpoint(accountId, `${receiver.url}/${what}/gains`)
  const loses = await service.endpoint(accountId, `${receiver.url}/${what}/loses`, { include })
  const [body, bodyWithAttributes] = buildBodies(length)
  const arrived = (path: string) => arrivedAt(`/${what}/${path}`)
  receiver.answerWith({ status: 500 })
  await doors.publish(doors.event(accountId, { body: body!, bodyWithAttributes }))
  await eventually(() => expect([arrived('gains').length, arrived('loses').length]).toEqual([1, 1]))
  const change = (endpointId: number, parts: string[]) =>
    service.client.updateWebhookEndpoint({ accountId, endpointId, include: { parts } })
  await change(gains.id, ['attributes'])
  await change(loses.id, [])
  receiver.answerWith({ status: 200 })
  const { deliveries } = await service.client.listDeliveries({ accountId, page: 1 })
  for (const { id: deliveryId, endpointId } of deliveries) {
    const { request } = await service.client.retrieveDelivery({ accountId, deliveryId })
    const wanted = endpointId === gains.id ? body : bodyWithAttributes
    expect(Buffer.from(request!.body).toString()).toBe(wanted!.toString())
    await eventually(() => service.client.retryDelivery({ accountId, deliveryId }))
  }
  await eventually(() => expect([arrived('gains').length, arrived('loses').length]).toEqual([2, 2]))
  expect(new Set(arrived('gains'))).toEqual(new Set([body!.toString()]))
  expect(new Set(arrived('loses'))).toEqual(new Set([bodyWithAttributes!.toString()]))
})

test.each([
  ['small', 10],
  ['large', 40_000],
])('each endpoint gets the %s body that it asks for, also on a retry', async (what, length) => {
  const accountId = length
  const full = await service.endpoint(accountId, `${receiver.url}/${what}/full`, { include })
  await service.endpoint(accountId, `${receiver.url}/${what}/plain`)
  const [body, bodyWithAttributes] = buildBodies(length)
  const arrived = (path: string) => arrivedAt(`/${what}/${path}`)
  receiver.answerWith({ status: 500 })
  await doors.publish(doors.event(accountId, { body: body!, bodyWithAttributes }))
  await eventually(() => expect([arrived('full').length, arrived('plain').length]).toEqual([1, 1]))
  receiver.answerWith({ status: 200 })
  // Waits until both attempts are recorded. Otherwise one delivery could end before the other one is due.
  const recorded = 'SELECT FROM deliveries WHERE account_id = $1 AND attempt_count = 1'
  await eventually(async () => expect(await doors.rows(recorded, [accountId])).toHaveLength(2))
  await doors.rows('UPDATE deliveries SET next_attempt_at = now() WHERE account_id = $1', [accountId])
  await eventually(() => expect([arrived('full').length, arrived('plain').length]).toEqual([2, 2]))
  expect(new Set(arrived('full'))).toEqual(new Set([bodyWithAttributes!.toString()]))
  expect(new Set(arrived('plain'))).toEqual(new Set([body!.toString()]))
  const { deliveries } = await service.client.listDeliveries({ accountId, endpointId: full.id, page: 1 })
  const { request } = await service.client.retrieveDelivery({ accountId, deliveryId: deliveries[0]!.id })
  expect(Buffer.from(request!.body).toString()).toBe(bodyWithAttributes!.toString())
})

test('an event without a second body is sent unchanged to endpoints that ask for attributes', async () => {
  await service.endpoint(5, `${receiver.url}/none`, { include })
  const event = doors.event(5)
  await doors.publish(event)
  const arrived = () => receiver.requests.filter(({ url }) => url.endsWith('/none')).map(({ body }) => body)
  await eventually(() => expect(arrived()).toEqual([Buffer.from(event.body)]))
})

test('an erasure empties both bodies', async () => {
  const event = doors.event(7, { bodyWithAttributes: Buffer.from('{"data":{"attributes":{"a":1}}}') })
  await doors.publish(event)
  const stored = () =>
    doors.rows('SELECT length(body) AS body, body_with_attributes AS more FROM events WHERE account_id = 7')
  await eventually(async () => expect(await stored()).toMatchObject([{ more: expect.anything() }]))
  const { leadReference } = event
  await service.client.eraseLeadEvents({ accountId: 7, leadReference, eventIds: [], tombstone: false })
  expect(await stored()).toEqual([{ body: 0, more: null }])
})

test('an endpoint shows its `include`', async () => {
  const { id: endpointId } = await service.endpoint(8, receiver.url, { include })
  const retrieve = async () =>
    (await service.client.retrieveWebhookEndpoint({ accountId: 8, endpointId })).endpoint!.include
  expect(await retrieve()).toEqual(['attributes'])
  await service.client.updateWebhookEndpoint({ accountId: 8, endpointId, include: { parts: [] } })
  expect(await retrieve()).toEqual([])
})
