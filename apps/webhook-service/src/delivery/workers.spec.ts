import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  cutConnections,
  eventually,
  freePort,
  gate,
  type Receiver,
  startNats,
  startReceiver,
  type TestNats,
} from '@leadwire/test-kit'
import { openDoors, sealedFor, startService } from '../service.fixture'

let nats: TestNats
let doors: Awaited<ReturnType<typeof openDoors>>
let receiver: Receiver
const children: ChildProcess[] = []

beforeAll(async () => {
  nats = await startNats()
})
afterAll(() => nats.stop())
beforeEach(async () => {
  doors = await openDoors({ nats })
  receiver = await startReceiver()
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await receiver.stop()
  await doors.close()
})

/** Starts the built service in a separate process, so that it can be killed. */
const startProcess = async () => {
  const main = join(__dirname, '../../dist/main.js')
  if (!existsSync(main)) throw new Error('webhook-service is not built: npx nx build webhook-service')
  const [health, grpc] = await Promise.all([freePort(), freePort()])
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      SERVICE_AUTH: 'none',
      LOG_LEVEL: 'info',
      HEALTH_PORT: String(health),
      GRPC_PORT: String(grpc),
      DATABASE_URL: doors.database.url,
      NATS_URL: doors.nats.url,
      WEBHOOK_ALLOW_HOSTS: '127.0.0.0/8',
      WEBHOOK_TIMEOUT: '10m',
      ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64'),
      SMTP_URL: 'file:///nowhere',
      SMTP_FROM: 'leads@example.com',
    },
  })
  children.push(child)
  await eventually(async () => expect((await fetch(`http://127.0.0.1:${health}/readyz`)).status).toBe(200))
  return child
}

/** Makes all claims expire. */
const endClaims = () => doors.rows('UPDATE deliveries SET claimed_until = now() WHERE claim IS NOT NULL')

test('when a process is killed during attempts, another process repeats them after their claims expire', async () => {
  const victim = await startProcess()
  const [{ id: endpointId } = { id: 0 }] = await doors.rows<{ id: number }>(
    `INSERT INTO endpoints (account_id, url, enabled, sealed_secrets) VALUES (1, $1, true, $2) RETURNING id`,
    [receiver.url, sealedFor(1)],
  )
  receiver.answerWith('hang')
  await doors.publish(...Array.from({ length: 10 }, () => doors.event(1)))
  await eventually(() => expect(receiver.requests).toHaveLength(10))
  const survivor = await startService(doors, { WEBHOOK_TIMEOUT: 600_000 })
  try {
    victim.kill('SIGKILL')
    await doors.polls()
    expect(receiver.requests).toHaveLength(10)
    // A claim is valid for the longest attempt (600 s) and 4 s more, in which the attempt is recorded.
    expect(
      await doors.rows(
        `SELECT DISTINCT round(extract(epoch FROM claimed_until - created_at))::int AS seconds FROM deliveries`,
      ),
    ).toEqual([{ seconds: 604 }])
    receiver.answerWith({ status: 200 })
    await endClaims()
    await eventually(() => expect(receiver.requests).toHaveLength(20))
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids.slice(10))).toEqual(new Set(ids.slice(0, 10)))
    await eventually(async () =>
      expect(
        await survivor.client.listDeliveries({ accountId: 1, endpointId: Number(endpointId), page: 1 }),
      ).toMatchObject({ total: 10, deliveries: Array(10).fill({ status: 'delivered', attemptCount: 1 }) }),
    )
    expect(await doors.rows('SELECT DISTINCT number FROM attempts')).toEqual([{ number: 1 }])
  } finally {
    await survivor.stop()
  }
})

test('a manual attempt of a dead process is not repeated after its endpoint was deleted', async () => {
  const service = await startService(doors)
  try {
    const { id: endpointId } = await service.endpoint(1, receiver.url)
    receiver.answerWith({ status: 500 })
    await doors.publish(doors.event(1))
    await eventually(async () =>
      expect(await doors.rows('SELECT attempt_count FROM deliveries WHERE claim IS NULL')).toEqual([
        { attempt_count: 1 },
      ]),
    )
    await doors.rows(
      `UPDATE deliveries SET status = 'exhausted', next_attempt_at = NULL, manual_at = now(), claim = 4242,
         claimed_until = now() + interval '1 minute'`,
    )
    await service.client.deleteWebhookEndpoint({ accountId: 1, endpointId })
    await endClaims()
    await doors.polls()
    const { deliveries } = await service.client.listDeliveries({ accountId: 1, page: 1 })
    expect(deliveries).toMatchObject([{ status: 'exhausted', attemptCount: 1 }])
    expect(receiver.requests).toHaveLength(1)
  } finally {
    await service.stop()
  }
})

test('attempts that are scheduled later than the longest pause are made now, because PostgreSQL’s clock has gone back', async () => {
  receiver.answerWith({ status: 500 })
  const first = await startService(doors)
  const { id: endpointId } = await first.endpoint(1, receiver.url)
  await doors.publish(...Array.from({ length: 4 }, () => doors.event(1)))
  const counts = async () => {
    const rows = await doors.rows<{ attempt_count: number }>(
      'SELECT attempt_count FROM deliveries WHERE endpoint_id = $1 AND claim IS NULL ORDER BY id',
      [endpointId],
    )
    return rows.map(({ attempt_count }) => attempt_count)
  }
  await eventually(async () => expect(await counts()).toEqual([1, 1, 1, 1]))
  await first.stop()
  // The longest pause is an hour. So the service makes an attempt due now if it is due in a day, but not if
  // it is due in 59 minutes.
  await doors.rows(`
    UPDATE deliveries d SET
      next_attempt_at = now() + CASE place WHEN 1 THEN interval '1 day' ELSE interval '59 minutes' END,
      manual_at = CASE place WHEN 2 THEN now() + interval '1 day' WHEN 3 THEN now() + interval '59 minutes' END
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM deliveries) p WHERE p.id = d.id`)
  const second = await startService(doors)
  try {
    await eventually(async () => expect(await counts()).toEqual([2, 2, 1, 1]))
    await doors.polls()
    expect(await counts()).toEqual([2, 2, 1, 1])
  } finally {
    await second.stop()
  }
})

test('the result of a replaced claim changes nothing', async () => {
  const service = await startService(doors, { WEBHOOK_TIMEOUT: 60_000 })
  try {
    await service.endpoint(1, receiver.url)
    const [first, second] = [gate(), gate()]
    receiver.answerWith((_, index) =>
      index === 0 ? { status: 500, after: first.opened } : { status: 200, after: second.opened },
    )
    await doors.publish(doors.event(1))
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    await endClaims()
    await eventually(() => expect(receiver.requests).toHaveLength(2))
    first.open()
    await doors.polls()
    second.open()
    await eventually(async () =>
      expect(await service.client.listDeliveries({ accountId: 1, page: 1 })).toMatchObject({
        deliveries: [{ status: 'delivered', attemptCount: 1 }],
      }),
    )
    expect(await doors.rows('SELECT number, status FROM attempts')).toEqual([{ number: 1, status: 200 }])
    expect(receiver.requests).toHaveLength(2)
  } finally {
    await service.stop()
  }
})

test('a drain waits for attempts and releases the other claims', async () => {
  const service = await startService(doors)
  await service.endpoint(1, receiver.url)
  const mayRespond = gate()
  // An attempt that starts during the drain hangs, so its claim is released.
  receiver.answerWith((_, index) => (index < 16 ? { status: 200, after: mayRespond.opened } : 'hang'))
  await doors.publish(...Array.from({ length: 20 }, () => doors.event(1)))
  await eventually(() => expect(receiver.requests).toHaveLength(16))
  // Waits until all events are stored, because a service that stops takes no further messages.
  await eventually(async () => expect(await doors.rows('SELECT FROM deliveries')).toHaveLength(20))
  const stopped = service.stop()
  mayRespond.open()
  await stopped
  expect(
    await doors.rows('SELECT status, claim, count(*)::int FROM deliveries GROUP BY 1, 2 ORDER BY 1'),
  ).toEqual([
    { status: 'delivered', claim: null, count: 16 },
    { status: 'pending', claim: null, count: 4 },
  ])
})

test('attempts that end while the database is unavailable are recorded later and not repeated', async () => {
  const service = await startService(doors)
  try {
    await service.endpoint(1, receiver.url)
    const mayRespond = gate()
    receiver.answerWith({ status: 200, after: mayRespond.opened })
    await doors.publish(...Array.from({ length: 5 }, () => doors.event(1)))
    await eventually(() => expect(receiver.requests).toHaveLength(5))
    for (let cut = 0; cut < 50; cut += 1) {
      if (cut === 10) mayRespond.open()
      await cutConnections(doors.database)
    }
    await eventually(async () =>
      expect(
        await service.client.listDeliveries({ accountId: 1, status: 'delivered', page: 1 }),
      ).toMatchObject({
        total: 5,
      }),
    )
    expect(receiver.requests).toHaveLength(5)
  } finally {
    await service.stop()
  }
})

test('two hundred endpoints that hang do not delay one that responds', async () => {
  // The timeout is 10 s. On a busy machine a response of the healthy endpoint may take more than a second.
  // The healthy endpoint is then slow, and waits until an attempt at another endpoint times out.
  const service = await startService(doors, { WEBHOOK_CONCURRENCY: 16, WEBHOOK_TIMEOUT: 10_000 })
  try {
    receiver.answerWith(({ url }) => (url.endsWith('/hang') ? 'hang' : { status: 200 }))
    for (let index = 0; index < 200; index += 1) await service.endpoint(1, `${receiver.url}/hang`)
    await service.endpoint(2, receiver.url)
    await doors.publish(doors.event(2))
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    await doors.publish(...Array.from({ length: 20 }, () => doors.event(1)))
    await eventually(() => expect(receiver.requests.length).toBeGreaterThan(16))
    receiver.clear()
    for (let count = 1; count <= 20; count += 1) {
      await doors.publish(doors.event(2))
      const healthy = () => receiver.requests.filter(({ url }) => !url.endsWith('/hang'))
      await eventually(() => expect(healthy()).toHaveLength(count), { everyMs: 5 })
    }
  } finally {
    // Stops the receiver first, because attempts that hang would delay the stop of the service.
    await receiver.stop()
    await service.stop()
  }
})

test('deliveries of an endpoint whose secret no key opens wait for the end of their claims, and delay no other', async () => {
  const service = await startService(doors)
  try {
    await doors.rows(
      `INSERT INTO endpoints (account_id, url, enabled, sealed_secrets) VALUES (1, $1, true, '\\x00')`,
      [`${receiver.url}/sealed`],
    )
    await service.endpoint(2, receiver.url)
    await doors.publish(...Array.from({ length: 20 }, () => doors.event(1)))
    await eventually(async () =>
      expect(
        await doors.rows('SELECT FROM deliveries WHERE account_id = 1 AND claimed_until > now()'),
      ).toHaveLength(20),
    )
    await doors.publish(doors.event(2))
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    await eventually(async () =>
      expect(await doors.rows('SELECT account_id FROM deliveries WHERE attempt_count > 0')).toHaveLength(1),
    )
  } finally {
    await service.stop()
  }
})
