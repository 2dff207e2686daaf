import { type FilledAccount, fillAccounts, fillDeliveries, fillEndpoints, fillLeads } from '@leadwire/fill'
import type { Context } from '../context'
import { createAtRate } from '../load/create-at-rate'
import type { HttpRequest } from '../load/http-request'
import { insertNextPerson } from '../load/insert-next-person'
import { pound } from '../load/pound'
import { percentile, sortNumbers } from '../measure/statistics'
import { formatNumber } from '../report/figure'
import { buildCreate, buildDelete, buildGet, buildJsonRequest, buildLargeCreate } from './requests'
import { buildAttach } from './upload'
import { withEndpoints } from './with-endpoints'

// The bystander creates few leads, so that its own leads do not load the machine. 13 leads a second for 6 s
// cause 78 webhooks, so the p99 is the latency of the slowest webhook.
const RATE = 13
const SECONDS = 6

/** The number of connections of an account that sends as many requests as it can. */
const FLOOD = 256

interface Step {
  /** The work of the other account, in words that follow "while another" in the name of the figure. */
  what: string
  connections: number
  requests: HttpRequest[]
  /** Runs before the measurement. */
  prepare?: () => Promise<unknown>
}

/**
 * Measures the webhooks of the bystander, an account with a few leads a second, while another account runs
 * one heavy step at a time. Fails when a create of the bystander fails.
 */
export const measureBystander = async (context: Context): Promise<void> => {
  const { leads, receiver } = context
  const [bystander] = await fillAccounts(leads, 1)
  const steps: Step[] = [
    { what: 'does nothing', connections: 0, requests: [] },
    ...(await prepareLeadSteps(context)),
    ...(await prepareDeliverySteps(context)),
  ]
  await receiver.setBroken(true)
  await withEndpoints(context, [bystander!], async () => {
    for (const step of steps) await measureStep(context, bystander!, step)
  })
  await receiver.setBroken(false)
}

const measureStep = async (
  context: Context,
  bystander: FilledAccount,
  { what, connections, requests, prepare }: Step,
): Promise<void> => {
  const { stack, receiver, report, options } = context
  const { port } = stack
  await prepare?.()
  const stopping = new AbortController()
  const pounding = pound({ port, connections, requests, signal: stopping.signal })
  const created = await createAtRate({
    port,
    requests: [buildCreate(bystander)],
    perSecond: RATE,
    seconds: options.quick ? 3 : SECONDS,
  }).finally(() => stopping.abort())
  const statuses = [...(await pounding)].map(
    ([status, count]) => `${status || 'failed'} ${formatNumber(count)}`,
  )
  const waits = sortNumbers(await receiver.waitForWebhooks(created))
  const creates = sortNumbers(created.map(({ respondedAt, sentAt }) => respondedAt - sentAt))
  const p50 = formatNumber(percentile(creates, 0.5))
  const p99 = formatNumber(percentile(creates, 0.99))
  const others = statuses.length > 0 ? `; the other's responses: ${statuses.join(', ')}` : ''
  report.addFigure({
    what: `webhook of a bystander, p99, while another ${what}, ms`,
    value: percentile(waits, 0.99),
    range: [waits[0]!, waits.at(-1)!],
    better: 'less',
    floor: 1000,
    aim: 250,
    detail: `its creates: p50 ${p50}, p99 ${p99} ms${others}`,
  })
}

/** Stores 50,000 leads of one account. Returns the steps that work on them. */
const prepareLeadSteps = async (context: Context): Promise<Step[]> => {
  const { leads, options } = context
  const [heavy] = await fillAccounts(leads, 1)
  await fillLeads(context, heavy!.id, options.quick ? 1000 : 50_000)
  return [
    { what: 'creates', connections: FLOOD, requests: [buildCreate(heavy!)] },
    {
      what: 'creates leads of 250 items',
      connections: 16,
      requests: [await buildLargeCreate(context, heavy!, 250)],
    },
    { what: 'uploads 5 MiB', connections: 16, requests: [await buildAttach(context, heavy!)] },
    { what: 'imports', connections: 2, requests: [buildImport(heavy!, 20_000)] },
    { what: 'searches', connections: 64, requests: [buildGet(heavy!, '/leads?q=ada&status=sold')] },
    { what: 'exports', connections: 4, requests: [buildGet(heavy!, '/manage/exports')] },
  ]
}

const buildImport = (account: FilledAccount, rows: number): HttpRequest => {
  const { body } = buildCreate(account)
  const { method, path, headers } = buildJsonRequest(account, 'POST', '/manage/imports?webhooks=true', {})
  return {
    method,
    path,
    headers: { ...headers, 'content-type': 'application/x-ndjson' },
    body: Array.from({ length: rows }, () => `${insertNextPerson(body!)}\n`).join(''),
  }
}

// The numbers of deliveries make the work of each step longer than the measurement of 6 s. A change of an
// endpoint updates about 3,000 deliveries a second, which is 18,000 in 6 s. The stack makes about 8,000
// attempts a second, which is 48,000 in 6 s.
const HELD = 100_000
const FEWER = 50_000
const DUE = 100_000

/** Stores the deliveries that the steps need. Returns the steps. */
const prepareDeliverySteps = async (context: Context): Promise<Step[]> => {
  const { leads, webhooks, receiver, options, stack } = context
  const { encryptionKeys } = stack
  const scale = (count: number) => (options.quick ? count / 50 : count)
  const held = scale(HELD)
  const fewer = scale(FEWER)
  const due = scale(DUE)
  const addEndpoints = async (account: FilledAccount, url = receiver.url, count = 1): Promise<number> => {
    const { ids } = await fillEndpoints(webhooks, { accountId: account.id, count, url, encryptionKeys })
    return ids[0]!
  }
  const addAccount = async () => (await fillAccounts(leads, 1))[0]!

  const holder = await addAccount()
  const heldId = await addEndpoints(holder)
  await fillDeliveries(context, { endpointId: heldId, count: held, status: 'held' })
  const heldPath = `/manage/webhook-endpoints/${heldId}`
  const filters = ['', `?endpoint_id=${heldId}`, '?status=held', '?status=pending', '?page=500', '?cursor=']

  const recoverer = await addAccount()
  const exhaustedId = await addEndpoints(recoverer)
  const newId = await addEndpoints(recoverer)
  await fillDeliveries(context, { endpointId: exhaustedId, count: fewer, status: 'exhausted' })
  const recover = buildJsonRequest(recoverer, 'POST', `/manage/webhook-endpoints/${exhaustedId}/recover`, {
    since: '2020-01-01T00:00:00Z',
  })
  const replay = buildJsonRequest(recoverer, 'POST', `/manage/webhook-endpoints/${newId}/replay`, {
    state: 'all',
  })

  const deleter = await addAccount()
  const deletedId = await addEndpoints(deleter)
  await fillDeliveries(context, { endpointId: deletedId, count: fewer, status: 'held' })

  const failer = await addAccount()
  const failingId = await addEndpoints(failer, `http://127.0.0.1:${receiver.refusingPort}/refuse`)
  const fanOut = await addAccount()
  await addEndpoints(fanOut, receiver.url, 100)
  const hanging = await addAccount()
  await addEndpoints(hanging, `http://127.0.0.1:${receiver.port}/hang`, 98)
  return [
    {
      what: `reads lists of ${held} deliveries`,
      connections: 16,
      requests: filters.map((filter) => buildGet(holder, `/manage/deliveries${filter}`)),
    },
    {
      what: `disables and enables an endpoint with ${held} deliveries`,
      connections: 4,
      requests: [true, false].map((enabled) => buildJsonRequest(holder, 'PATCH', heldPath, { enabled })),
    },
    { what: `recovers ${fewer} deliveries`, connections: 4, requests: [recover] },
    { what: `replays ${fewer} events to a new endpoint`, connections: 1, requests: [replay] },
    {
      what: `deletes an endpoint with ${fewer} deliveries`,
      connections: 1,
      requests: [buildDelete(deleter, `/manage/webhook-endpoints/${deletedId}`)],
    },
    {
      what: `has ${due} retries that are due`,
      connections: 0,
      requests: [],
      prepare: () =>
        fillDeliveries(context, { endpointId: failingId, count: due, status: 'pending', failed: 1 }),
    },
    { what: 'creates for 100 endpoints', connections: 16, requests: [buildCreate(fanOut)] },
    {
      what: 'creates leads of 250 items for 98 endpoints that hang',
      connections: 16,
      requests: [await buildLargeCreate(context, hanging, 250)],
    },
  ]
}
