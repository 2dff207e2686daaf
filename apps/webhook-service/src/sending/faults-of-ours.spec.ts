import { randomUUID } from 'node:crypto'
import { connectDatabase, createLifecycle, createLogger, createMetrics, migrate } from '@leadwire/service-kit'
import { createDatabase, eventually } from '@leadwire/test-kit'
import { failureClass } from '../attempt/failure-class'
import type { Outcome } from '../attempt/make-attempt'
import { systemClock } from '../clock'
import { createDeliveryMetrics } from '../delivery-metrics'
import { migrations } from '../migrations'
import { sendDeliveries } from './send-deliveries'

test('without free sockets no attempt is spent: the same is made again a moment later', async () => {
  const { url, drop } = await createDatabase()
  const logger = createLogger({ service: 'spec', level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const database = connectDatabase({ url, poolSize: 5, lifecycle })
  await migrate(url, migrations)
  await database.query({
    text: `INSERT INTO endpoints (account_id, url, enabled, secret) VALUES (1, 'http://example.com', true, 'a secret of ours')`,
  })
  const outcomes: Outcome['error'][] = []
  const sender = sendDeliveries({
    ...{ database, queue: database, claimMs: 5000 },
    attempt: async () => {
      const error = outcomes.length < 2 ? failureClass({ code: 'EMFILE' }) : null
      outcomes.push(error)
      return { startedAt: new Date(), durationMs: 1, status: error ? null : 200, error, response: null }
    },
    schedule: [60_000],
    concurrency: 16,
    endpointConcurrency: 4,
    clock: systemClock,
    metrics: createDeliveryMetrics({
      kind: 'webhook',
      metrics: createMetrics('spec'),
      queue: database,
      clock: systemClock,
      logger,
    }),
    logger,
  })
  const event = {
    id: randomUUID(),
    accountId: 1,
    accountKey: 'key',
    leadReference: randomUUID(),
    traceparent: null,
  }
  await sender.store([{ ...event, body: Buffer.from('{}') }])
  await eventually(async () =>
    expect(await database.query({ text: 'SELECT status, attempt_count, claim FROM deliveries' })).toEqual([
      { status: 'delivered', attempt_count: 1, claim: null },
    ]),
  )
  expect(outcomes).toEqual(['ours', 'ours', null])
  await sender.stop()
  await lifecycle.stop()
  await drop()
})
