import { fillAccounts, fillDeliveries, fillEndpoints, vacuum } from '@leadwire/fill'
import { copySchema } from '../baselines/copy-schema'
import type { Context } from '../context'
import { load } from '../load/load'
import { startSingleProcess } from './baselines'
import { buildCreate } from './requests'
import { chooseWarmUp, waitUntilQuiet } from './rounds'

// Storing search terms is the slowest work after a create: it follows 2.5 to 4.5 s later. During a load of 30
// s, most of this work competes with creates, as in a system that has run for days.
const SECONDS = 30

// The number of leads that are stored before the load. Without them the almost empty tables would grow by
// more than a tenth every ten seconds, and PostgreSQL would analyze them each time. Tables that have grown
// for days are not analyzed that often.
const STORED = 100_000

/**
 * Measures creates from 64 connections until the stack has done all work that follows the responses:
 * publishing, storing and clearing events, storing search terms, and reconciliation.
 */
export const measureSustained = async (context: Context): Promise<void> => {
  const { report, stack, leads, options } = context
  const seconds = options.quick ? 3 : SECONDS
  const [account] = await fillAccounts(leads, 1)
  await storeLeads(context, options.quick ? 1000 : STORED)
  await copySchema(leads)
  const single = await startSingleProcess(context)
  const createFor = (port: number, seconds: number) =>
    load({ port, requests: [buildCreate(account!)], connections: 64, seconds })
  for (const port of [single.port, stack.port]) await createFor(port, chooseWarmUp(context))
  await waitUntilQuiet(context)
  const before = await createFor(single.port, seconds / 3)
  const startedAt = performance.now()
  const ours = await createFor(stack.port, seconds)
  await waitUntilQuiet(context)
  const perSecond = (ours.requests / (performance.now() - startedAt)) * 1000
  const after = await createFor(single.port, seconds / 3)
  await single.stop()
  report.addRatio({
    what: `create for ${seconds} s and all that follows / single process, leads a second`,
    ours: [perSecond, perSecond],
    baseline: [before.perSecond, after.perSecond],
    unit: '/s',
    better: 'more',
    floor: 1.7,
    aim: 2.5,
  })
  // Reports a ratio instead of milliseconds, because both contenders wait for commits, and machines differ in
  // the speed of commits.
  report.addRatio({
    what: `create for ${seconds} s / single process, p99`,
    ours: [ours.p99, ours.p99],
    baseline: [before.p99, after.p99],
    unit: 'ms',
    better: 'less',
    floor: 0.7,
    aim: 0.5,
  })
}

/** Stores leads of an account other than the measured one, with their events and deliveries. */
const storeLeads = async (context: Context, count: number): Promise<void> => {
  const { stack, receiver, leads, webhooks } = context
  const { encryptionKeys } = stack
  const [account] = await fillAccounts(leads, 1)
  const { ids } = await fillEndpoints(webhooks, {
    accountId: account!.id,
    count: 1,
    url: receiver.url,
    encryptionKeys,
  })
  await fillDeliveries(context, { endpointId: ids[0]!, count, status: 'delivered' })
  await vacuum(leads, ['accounts', 'leads'])
  await vacuum(webhooks, ['events', 'deliveries', 'attempts'])
}
