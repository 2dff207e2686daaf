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
beforeEach(() => receiver.clear())

const buildHeaders = (given: Record<string, string | undefined>) => ({
  headers: Object.entries(given).map(([name, value]) => ({ name, value })),
})

const create = async (accountId: number, given: Record<string, string | undefined>) => {
  const { endpoint, secret } = await service.client.createWebhookEndpoint({
    accountId,
    url: receiver.url,
    enabled: true,
    headers: buildHeaders(given),
  })
  return { endpoint: endpoint!, key: { accountId, endpointId: endpoint!.id }, secret }
}

const attempted = async (accountId: number) => {
  receiver.clear()
  await doors.publish(doors.event(accountId))
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  return receiver.requests[0]!.headers
}

test('each attempt has the custom headers, also after a rotation, and their values are stored encrypted', async () => {
  const { endpoint, key } = await create(1, { Authorization: 'Bearer hush-hush', 'X-Api-Key': 'k1' })
  expect(endpoint.headerNames).toEqual(['Authorization', 'X-Api-Key'])
  expect(await attempted(1)).toMatchObject({ authorization: 'Bearer hush-hush', 'x-api-key': 'k1' })
  await service.client.rotateWebhookSecret({ ...key, overlapMs: 0 })
  expect(await attempted(1)).toMatchObject({ authorization: 'Bearer hush-hush', 'x-api-key': 'k1' })
  const stored = await doors.rows(
    'SELECT endpoints::text || encode(sealed_secrets, $$escape$$) AS row FROM endpoints',
  )
  expect(JSON.stringify([stored, await doors.rows('SELECT audit::text FROM audit')])).not.toContain('hush')
})

test('new headers replace the old ones, and a header without a value keeps its value in any case', async () => {
  const { key, secret } = await create(2, { 'X-One': '1', 'X-Two': '2' })
  const change = (given: Record<string, string | undefined>) =>
    service.client.updateWebhookEndpoint({ ...key, headers: buildHeaders(given) })
  const { endpoint } = await change({ 'x-one': undefined, 'X-Three': '3' })
  expect(endpoint!.headerNames).toEqual(['x-one', 'X-Three'])
  const headers = await attempted(2)
  expect(headers).toMatchObject({ 'x-one': '1', 'x-three': '3' })
  expect(headers).not.toHaveProperty('x-two')
  await expect(change({ 'X-Two': undefined })).rejects.toMatchObject({
    fieldErrors: { 'headers.X-Two': ['The header X-Two must have a value.'] },
  })
  expect((await change({})).endpoint!.headerNames).toEqual([])
  expect(await attempted(2)).not.toHaveProperty('x-one')
  expect(secret).toEqual(expect.any(String))
})

test('the first attempt of an hour is recorded while a change waits for deliveries that are being updated', async () => {
  const { key } = await create(3, { 'X-One': '1' })
  await doors.rows("BEGIN; SET LOCAL lock_timeout = '2s'")
  await doors.rows('INSERT INTO endpoint_syncs (endpoint_id) VALUES ($1)', [key.endpointId])
  const change = { enabled: false, headers: buildHeaders({ 'X-One': '2' }) }
  const changed = service.client.updateWebhookEndpoint({ ...key, ...change })
  const waits = 'SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid'
  await eventually(async () => expect(await doors.rows(waits)).toHaveLength(1))
  const record =
    'INSERT INTO endpoint_hours (endpoint_id, hour_of_day, hour, succeeded, failed) VALUES ($1, 0, now(), 1, 0)'
  await doors.rows(record, [key.endpointId]).finally(() => doors.rows('ROLLBACK'))
  expect((await changed).endpoint!.enabled).toBe(false)
})

test('a duplicate name is refused', async () => {
  await expect(create(3, { 'X-Key': 'a', 'x-key': 'b' })).rejects.toMatchObject({
    fieldErrors: { 'headers.x-key': ['The header x-key is listed twice.'] },
  })
})
