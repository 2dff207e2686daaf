import { randomBytes } from 'node:crypto'
import { eventually, manualClock, type Receiver, startReceiver } from '@leadwire/test-kit'
import { serviceSignature } from '@leadwire/webhook-receiver'
import { openDoors, startService } from '../../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver.stop()
  await doors.close()
})
beforeEach(() => receiver.clear())

const [older, newer] = [randomBytes(32), randomBytes(32)]

/** Reads the row of an endpoint as text. */
const readRow = async (endpointId: number) =>
  JSON.stringify(
    await doors.rows(
      `SELECT e::text, encode(sealed_secrets, 'escape') AS sealed FROM endpoints e WHERE id = $1`,
      [endpointId],
    ),
  )

const readKey = async (endpointId: number) =>
  (
    await doors.rows<{ key: string }>(
      `SELECT encode(substring(sealed_secrets FOR 5), 'hex') AS key FROM endpoints WHERE id = $1`,
      [endpointId],
    )
  )[0]!.key

const expectSigned = async (accountId: number, secret: string) => {
  receiver.clear()
  await doors.publish(doors.event(accountId))
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const [{ headers, body }] = receiver.requests as [(typeof receiver.requests)[0]]
  expect(headers['x-service-signature']).toBe(serviceSignature(body, secret))
}

test('the database contains no plain secret, also after a rotation', async () => {
  const service = await startService(doors)
  const { id: endpointId, secret } = await service.endpoint(1, receiver.url)
  const rotation = { accountId: 1, endpointId, overlapMs: 60_000 }
  const { secret: second } = await service.client.rotateWebhookSecret(rotation)
  const row = await readRow(endpointId)
  for (const each of [secret, second]) expect(row).not.toContain(each.slice('whsec_'.length))
  await expectSigned(1, secret)
  await service.stop()
})

test('each start encrypts all secrets with the first key, so that the old key can be removed', async () => {
  const first = await startService(doors, { ENCRYPTION_KEYS: [older, Buffer.alloc(32, 7)] })
  const { id, secret } = await first.endpoint(3, receiver.url)
  const before = await readKey(id)
  await first.stop()
  const second = await startService(doors, { ENCRYPTION_KEYS: [newer, older] })
  expect(await readKey(id)).not.toBe(before)
  await second.stop()
  const third = await startService(doors, { ENCRYPTION_KEYS: [newer] })
  await expectSigned(3, secret)
  await third.stop()
  await expect(startService(doors, { ENCRYPTION_KEYS: [older] })).rejects.toMatchObject({ code: 'internal' })
  const back = await startService(doors, { ENCRYPTION_KEYS: [Buffer.alloc(32, 7), newer] })
  await back.stop()
})

test('an old secret is removed after its end', async () => {
  const clock = manualClock()
  const service = await startService(doors, { clock })
  const { id: endpointId } = await service.endpoint(4, receiver.url)
  await service.client.rotateWebhookSecret({ accountId: 4, endpointId, overlapMs: 60_000 })
  const lengthAndEnd = async () =>
    (
      await doors.rows<{ bytes: number; ends: boolean }>(
        'SELECT length(sealed_secrets) AS bytes, secrets_end_at IS NOT NULL AS ends FROM endpoints WHERE id = $1',
        [endpointId],
      )
    )[0]!
  const before = await lengthAndEnd()
  expect(before.ends).toBe(true)
  await service.stop()
  clock.advance(60_000)
  // The service removes ended secrets when it starts.
  const next = await startService(doors, { clock })
  await eventually(async () => expect(await lengthAndEnd()).toMatchObject({ ends: false }))
  expect((await lengthAndEnd()).bytes).toBeLessThan(before.bytes)
  await next.stop()
})
