import { type FilledAccount, fillAccounts, fillDeliveries, fillEndpoints, fillLeads } from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { another } from '../load/another'
import { openLoop } from '../load/open-loop'
import { pound } from '../load/pound'
import { percentile, sorted } from '../measure/statistics'
import { plain } from '../report/figure'
import {
  createRequest,
  getRequest,
  jsonRequest,
  largeLeadRequest,
  pageRequests,
  withEndpoints,
} from './requests'
import { attachRequests } from './upload'

/** Leads a second of the bystander. */
export const BYSTANDER_RATE = 4
/** Of an account that sends all it can. */
const FLOOD = 256

interface Heavy {
  what: string
  connections: number
  requests: Request[]
  /** Done before, as its own time is not the other's doing. */
  begin?: () => Promise<unknown>
}

const importOf = (account: FilledAccount, rows: number): Request => ({
  ...getRequest(account, '/manage/imports?webhooks=true'),
  method: 'POST',
  headers: { ...getRequest(account, '/').headers, 'content-type': 'application/x-ndjson' },
  body: Array.from({ length: rows }, () => `${another(createRequest(account).body as string)}\n`).join(''),
})

const reads = async (context: Context, account: FilledAccount): Promise<Heavy[]> => {
  const { leads, options } = context
  const [large] = await fillAccounts(leads, 1)
  await pound({
    ...{ port: context.stack.port, connections: 4, requests: [await largeLeadRequest(context, 250, large!)] },
    signal: AbortSignal.timeout(options.quick ? 1000 : 5000),
  })
  return [
    { what: 'reads pages of large leads', connections: 64, requests: pageRequests(large!, 1, 10) },
    { what: 'searches', connections: 64, requests: [getRequest(account, '/leads?q=ada&status=sold')] },
    { what: 'exports', connections: 4, requests: [getRequest(account, '/manage/exports')] },
  ]
}

const writes = async (context: Context, account: FilledAccount): Promise<Heavy[]> => [
  { what: 'creates', connections: FLOOD, requests: [createRequest(account)] },
  {
    what: 'creates leads of 250 items',
    connections: 16,
    requests: [await largeLeadRequest(context, 250, account)],
  },
  { what: 'uploads 5 MiB', connections: 16, requests: await attachRequests(context, account) },
  { what: 'imports', connections: 2, requests: [importOf(account, 20_000)] },
]

const deliveries = async (context: Context): Promise<Heavy[]> => {
  const { leads, webhooks, receiver, options, stack } = context
  const { encryptionKeys } = stack
  const count = options.quick ? 10_000 : 1_000_000
  const [held, exhausted, deleted, failing, many, hanging] = await fillAccounts(leads, 6)
  const endpointOf = async (account: FilledAccount, url = receiver.url, copies = 1) =>
    (await fillEndpoints(webhooks, { accountId: account.id, count: copies, url, encryptionKeys })).ids[0]!
  const heldId = await endpointOf(held!)
  const [exhaustedId, deletedId] = [await endpointOf(exhausted!), await endpointOf(deleted!)]
  const newId = await endpointOf(exhausted!)
  const failingId = await endpointOf(failing!, `http://127.0.0.1:${receiver.refusingPort}/refuse`)
  const some = count / 10
  await fillDeliveries(context, { endpointId: heldId, count, status: 'held' })
  await fillDeliveries(context, { endpointId: exhaustedId, count: some, status: 'exhausted' })
  await fillDeliveries(context, { endpointId: deletedId, count: some, status: 'held' })
  const backlog = { endpointId: failingId, count: some, status: 'pending' as const, failed: 1 }
  await endpointOf(many!, receiver.url, 100)
  await endpointOf(hanging!, `http://127.0.0.1:${receiver.port}/hang`, 98)
  const heldPath = `/manage/webhook-endpoints/${heldId}`
  const since = { since: '2020-01-01T00:00:00Z' }
  const recover = jsonRequest(exhausted!, 'POST', `/manage/webhook-endpoints/${exhaustedId}/recover`, since)
  const replay = jsonRequest(exhausted!, 'POST', `/manage/webhook-endpoints/${newId}/replay`, {
    state: 'all',
  })
  const lists = ['', `?endpoint_id=${heldId}`, '?status=held', '?status=pending', '?page=500', '?cursor=']
  return [
    {
      ...{ what: `reads lists of ${count} deliveries`, connections: 16 },
      requests: lists.map((query) => getRequest(held!, `/manage/deliveries${query}`)),
    },
    {
      ...{ what: `disables and enables an endpoint with ${count} deliveries`, connections: 4 },
      requests: [true, false].map((enabled) => jsonRequest(held!, 'PATCH', heldPath, { enabled })),
    },
    { what: `recovers ${some} deliveries`, connections: 4, requests: [recover] },
    { what: `replays ${some} events to a new endpoint`, connections: 1, requests: [replay] },
    {
      ...{ what: `deletes an endpoint with ${some} deliveries`, connections: 1 },
      requests: [{ ...getRequest(deleted!, `/manage/webhook-endpoints/${deletedId}`), method: 'DELETE' }],
    },
    {
      ...{ what: `has ${some} retries that are due`, connections: 0, requests: [] },
      begin: () => fillDeliveries(context, backlog),
    },
    { what: 'creates for 100 endpoints', connections: 16, requests: [createRequest(many!)] },
    {
      ...{ what: 'creates leads of 250 items for 98 endpoints that hang', connections: 16 },
      requests: [await largeLeadRequest(context, 250, hanging!)],
    },
  ]
}

/**
 * What an account with a few leads a second notices of another that does one heavy thing at a time: all its requests must
 * succeed, and its webhooks must arrive within a second.
 */
export const bystander = async (context: Context): Promise<void> => {
  const { stack, leads, receiver, report, options } = context
  const [account, heavy] = await fillAccounts(leads, 2)
  await fillLeads(context, heavy!.id, options.quick ? 1000 : 100_000)
  const seconds = options.quick ? 3 : 20
  const steps: Heavy[] = [
    { what: 'does nothing', connections: 0, requests: [] },
    ...(await writes(context, heavy!)),
    ...(await reads(context, heavy!)),
    ...(await deliveries(context)),
  ]
  await receiver.setBroken(true)
  await withEndpoints(context, [account!], async () => {
    for (const { what, connections, requests, begin } of steps) {
      await begin?.()
      const stopping = new AbortController()
      const pounding = pound({ port: stack.port, connections, requests, signal: stopping.signal })
      const load = {
        port: stack.port,
        requests: [createRequest(account!)],
        perSecond: BYSTANDER_RATE,
        seconds,
      }
      const created = await openLoop(load).finally(() => stopping.abort())
      const statuses = [...(await pounding)].map(([status, count]) => `${status || 'failed'} ${plain(count)}`)
      const waits = sorted(await receiver.waitsOf(created))
      const answers = sorted(created.map(({ answeredAt, sentAt }) => answeredAt - sentAt))
      report.figure({
        what: `webhook of a bystander, p99, while another ${what}, ms`,
        value: percentile(waits, 0.99),
        range: [waits[0]!, waits.at(-1)!],
        ...{ better: 'less', floor: 1000, aim: 250 },
        detail: `its creates: p50 ${plain(percentile(answers, 0.5))}, p99 ${plain(percentile(answers, 0.99))} ms; the other's answers: ${statuses.join(', ')}`,
      })
    }
  })
  await receiver.setBroken(false)
}
