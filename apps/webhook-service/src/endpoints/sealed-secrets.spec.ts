import { randomBytes } from 'node:crypto'
import { eventually, manualClock, type Receiver, startReceiver } from '@leadwire/test-kit'
import { serviceSignature } from '../attempt/signatures'
import { openDoors, startService } from '../service.fixture'

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

/** Everything that the table holds of an endpoint, as text. */
const rowOf = async (endpointId: number) =>
  JSON.stringify(
    await doors.rows(
      `SELECT e::text, encode(sealed_secrets, 'escape') AS sealed FROM endpoints e WHERE id = $1`,
      [endpointId],
    ),
  )

const keyOf = async (endpointId: number) =>
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
  expect(headers['x-service-signature']).toBe(serviceSignature(secret, body))
}

test('no secret stands in the database, neither at first nor after a rotation', async () => {
  const service = await startService(doors)
  const { id: endpointId, secret } = await service.endpoint(1, receiver.url)
  const rotation = { accountId: 1, endpointId, overlapMs: 60_000 }
  const { secret: second } = await service.client.rotateWebhookSecret(rotation)
  const row = await rowOf(endpointId)
  for (const each of [secret, second]) expect(row).not.toContain(each.slice('whsec_'.length))
  await expectSigned(1, secret)
  await service.stop()
})

test('secrets that an earlier release wrote sign at once, and are encrypted by the next start', async () => {
  const service = await startService(doors)
  const plain = 'a secret in plain text'
  const old = JSON.stringify([{ secret: 'one that ended', until: '2026-01-01T00:00:00.000Z' }])
  const [{ id }] = (await doors.rows<{ id: number }>(
    'INSERT INTO endpoints (account_id, url, enabled, secret, old_secrets) VALUES (2, $1, true, $2, $3) RETURNING id::int',
    [receiver.url, plain, old],
  )) as [{ id: number }]
  await expectSigned(2, plain)
  await service.stop()

  const next = await startService(doors)
  const row = await rowOf(id)
  expect(row).not.toContain(plain)
  expect(row).not.toContain('one that ended')
  await expectSigned(2, plain)
  await next.stop()
})

test('a key is exchanged: each start encrypts with the first, and then the old one is not needed', async () => {
  const first = await startService(doors, { ENCRYPTION_KEYS: [older, Buffer.alloc(32, 7)] })
  const { id, secret } = await first.endpoint(3, receiver.url)
  const before = await keyOf(id)
  await first.stop()
  const second = await startService(doors, { ENCRYPTION_KEYS: [newer, older] })
  expect(await keyOf(id)).not.toBe(before)
  await second.stop()
  const third = await startService(doors, { ENCRYPTION_KEYS: [newer] })
  await expectSigned(3, secret)
  await third.stop()
  await expect(startService(doors, { ENCRYPTION_KEYS: [older] })).rejects.toMatchObject({ code: 'internal' })
  const back = await startService(doors, { ENCRYPTION_KEYS: [Buffer.alloc(32, 7), newer] })
  await back.stop()
})

test('a replaced secret is removed when it has ended', async () => {
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
  // A start begins with a round of removal.
  const next = await startService(doors, { clock })
  await eventually(async () => expect(await lengthAndEnd()).toMatchObject({ ends: false }))
  expect((await lengthAndEnd()).bytes).toBeLessThan(before.bytes)
  await next.stop()
})

test('in a database that 0.2.0 made they stay readable for it, until it can not come back', async () => {
  await doors.rows('CREATE TABLE workers (id integer PRIMARY KEY)')
  const plain = async (endpointId: number) =>
    (await doors.rows<{ secret: string }>('SELECT secret FROM endpoints WHERE id = $1', [endpointId]))[0]!
      .secret
  const shared = await startService(doors)
  const { id, secret } = await shared.endpoint(40, receiver.url)
  expect(await plain(id)).toBe(secret)
  const rotation = { accountId: 40, endpointId: id, overlapMs: 0 }
  const { secret: second } = await shared.client.rotateWebhookSecret(rotation)
  expect(await plain(id)).toBe(second)
  // As 0.2.0 rotates.
  const theirs = 'a secret that 0.2.0 stored'
  await doors.rows('UPDATE endpoints SET secret = $2 WHERE id = $1', [id, theirs])
  await expectSigned(40, theirs)
  await shared.stop()
  const alone = await startService(doors, { ROLLBACK_PERIOD: 0 })
  expect(await rowOf(id)).not.toContain(theirs)
  await expectSigned(40, theirs)
  await alone.stop()
  const sharedAgain = await startService(doors)
  expect(await plain(id)).toBe(theirs)
  await sharedAgain.stop()
})
