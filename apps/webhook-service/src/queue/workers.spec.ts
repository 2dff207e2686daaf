import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cutConnections, eventually, freePort, gate, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, sealedFor, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let receiver: Receiver
const children: ChildProcess[] = []

beforeEach(async () => {
  doors = await openDoors()
  receiver = await startReceiver()
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await receiver.stop()
  await doors.close()
})

/** The built service in a process of its own, so that it can be killed. */
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

/** As if the time had come at which all claims end. */
const endClaims = () => doors.rows('UPDATE deliveries SET claimed_until = now() WHERE claim IS NOT NULL')

test('when a process is killed in the middle of attempts, another makes the same attempts again when their claims end', async () => {
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
    // The longest attempt, and 4 s to write its result.
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

test('a manual attempt that died with its process is not made after its endpoint was deleted', async () => {
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
         claimed_until = now() + interval '1 hour'`,
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

test('the result of a replaced claim changes nothing', async () => {
  const service = await startService(doors)
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

test('a drain lets attempts end and leaves no claim behind', async () => {
  const service = await startService(doors)
  await service.endpoint(1, receiver.url)
  const answered = gate()
  // One that starts with the drain never ends, and is released.
  receiver.answerWith((_, index) => (index < 16 ? { status: 200, after: answered.opened } : 'hang'))
  await doors.publish(...Array.from({ length: 20 }, () => doors.event(1)))
  await eventually(() => expect(receiver.requests).toHaveLength(16))
  const stopped = service.stop()
  answered.open()
  await stopped
  expect(
    await doors.rows('SELECT status, claim, count(*)::int FROM deliveries GROUP BY 1, 2 ORDER BY 1'),
  ).toEqual([
    { status: 'delivered', claim: null, count: 16 },
    { status: 'pending', claim: null, count: 4 },
  ])
})

test('attempts that end while the database is away are recorded when it is back, and not repeated', async () => {
  const service = await startService(doors)
  try {
    await service.endpoint(1, receiver.url)
    const answered = gate()
    receiver.answerWith({ status: 200, after: answered.opened })
    await doors.publish(...Array.from({ length: 5 }, () => doors.event(1)))
    await eventually(() => expect(receiver.requests).toHaveLength(5))
    for (let cut = 0; cut < 50; cut += 1) {
      if (cut === 10) answered.open()
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

test('two hundred endpoints that hang do not delay one that answers', async () => {
  // On a busy machine an answer may take more than a second. Then the endpoint is slow, and waits for a time-out of the others.
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
    // What hangs would have the service wait.
    await receiver.stop()
    await service.stop()
  }
})
