import { fillAccounts, fillDeliveries, fillEndpoints, settle } from '@leadwire/fill'
import { copySchema } from '../baselines/copy-schema'
import type { Context } from '../context'
import { load } from '../load/load'
import { startBaseline } from './baselines'
import { createRequest } from './requests'
import { untilQuiet, warmUpSeconds } from './rounds'

const SECONDS = 60
// In a table that is almost empty each ten seconds of load bring a tenth more rows, and PostgreSQL analyses it each time. A system that
// has run for days is not busy with that.
const STORED = 500_000

/**
 * Creates for a minute at 64 connections. What follows the answers (publishing, storing, clearing, search, reconciliation) counts: the
 * rate is of the time until all of it is done.
 */
export const sustained = async (context: Context): Promise<void> => {
  const { report, stack, leads, webhooks, options } = context
  const seconds = options.quick ? options.seconds : SECONDS
  const [account, other] = await fillAccounts(leads, 2)
  const { ids } = await fillEndpoints(webhooks, {
    ...{ accountId: other!.id, count: 1, url: context.receiver.url, encryptionKeys: stack.encryptionKeys },
  })
  await fillDeliveries(context, {
    ...{ endpointId: ids[0]!, count: options.quick ? 1000 : STORED, status: 'delivered' },
  })
  await settle(leads, ['accounts', 'leads'])
  await settle(webhooks, ['events', 'deliveries', 'attempts'])
  await copySchema(leads)
  const single = await startBaseline(context, 'single-process', {
    databaseUrl: stack.database('leads'),
    assetsUrl: stack.dev.assets_url,
  })
  const run = (port: number, seconds: number) =>
    load({ port, requests: [createRequest(account!)], connections: 64, seconds })
  for (const port of [single.port, stack.port]) await run(port, warmUpSeconds(context))
  await untilQuiet(context)
  const before = await run(single.port, seconds / 3)
  const startedAt = performance.now()
  const ours = await run(stack.port, seconds)
  await untilQuiet(context)
  const perSecond = (ours.requests / (performance.now() - startedAt)) * 1000
  const after = await run(single.port, seconds / 3)
  await single.stop()
  report.ratio({
    what: 'create for a minute and all that follows / single process, leads a second',
    ours: [perSecond, perSecond],
    baseline: [before.perSecond, after.perSecond],
    ...{ unit: '/s', better: 'more', floor: 1.7, aim: 2.5 },
  })
  // As a ratio: one machine commits in half the time of another, and the single process pays for the same commits.
  report.ratio({
    what: 'create for a minute / single process, p99',
    ours: [ours.p99, ours.p99],
    baseline: [before.p99, after.p99],
    ...{ unit: 'ms', better: 'less', floor: 0.7, aim: 0.5 },
  })
}
