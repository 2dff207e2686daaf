import { execFile } from 'node:child_process'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { poll, repositoryRoot } from '@leadwire/embedded'
import {
  type FilledAccount,
  fillAccounts,
  fillDeliveries,
  fillEndpoints,
  multiplyDeliveries,
  settle,
} from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { type Created, openLoop } from '../load/open-loop'
import { median, percentile, sorted } from '../measure/statistics'
import { plain } from '../report/figure'
import { BYSTANDER_RATE } from './bystander'
import { ask, createRequest, getRequest, jsonRequest, withEndpoints } from './requests'

/** Each lead has so many events. */
const EVENTS_OF_LEAD = 200
const DAY_MS = 86_400_000

interface World {
  account: FilledAccount
  count: number
  endpoints: Record<'delivered' | 'held' | 'exhausted', number>
}

interface Step {
  what: string
  begin?: () => Promise<unknown>
  /** May end with the signal, or later. Resolves with what it did, and how long that took. */
  work: (signal: AbortSignal) => Promise<string>
}

const fill = async (context: Context): Promise<World> => {
  const { leads, webhooks, receiver, options, stack } = context
  const count = options.quick ? 10_000 : options.huge ? 10_000_000 : 1_000_000
  const [account] = await fillAccounts(leads, 1)
  const { ids } = await fillEndpoints(webhooks, {
    accountId: account!.id,
    count: 3,
    url: receiver.url,
    encryptionKeys: stack.encryptionKeys,
  })
  const [delivered, held, exhausted] = ids as [number, number, number]
  const base = count / EVENTS_OF_LEAD
  await fillDeliveries(context, { endpointId: delivered, count: base, status: 'delivered' })
  await fillDeliveries(context, { endpointId: held, count: base / 10, status: 'held' })
  await fillDeliveries(context, { endpointId: exhausted, count: Math.ceil(base / 100), status: 'exhausted' })
  await multiplyDeliveries(webhooks, ids, EVENTS_OF_LEAD)
  await settle(leads, ['accounts', 'leads'])
  await settle(webhooks, ['events', 'deliveries', 'attempts'])
  return { account: account!, count, endpoints: { delivered, held, exhausted } }
}

const timed = async (port: number, request: Request): Promise<number> => {
  const since = performance.now()
  await ask(port, request)
  return performance.now() - since
}

/** Sends requests in turn, on four connections; tells the median time of each. */
const repeat =
  ({ stack }: Context, requests: Record<string, Request>): Step['work'] =>
  async (signal) => {
    const times = Object.entries(requests).map(([name, request]) => ({ name, request, all: [] as number[] }))
    const loop = async () => {
      while (!signal.aborted) for (const { request, all } of times) all.push(await timed(stack.port, request))
    }
    await Promise.all(Array.from({ length: 4 }, loop))
    return times.map(({ name, all }) => `${name} ${plain(median(all))} ms`).join(', ')
  }

const lists = async (context: Context, { account, endpoints }: World): Promise<Step[]> => {
  const { delivered, held } = endpoints
  const [{ middle }] = (await context.webhooks.rows<{ middle: number }>(
    'SELECT (min(id) + max(id)) / 2 AS middle FROM deliveries WHERE account_id = $1',
    [account.id],
  )) as [{ middle: number }]
  const step = (what: string, place: string): Step => ({
    what,
    work: repeat(
      context,
      Object.fromEntries(
        ['', `endpoint_id=${delivered}`, `endpoint_id=${held}`, 'status=delivered', 'status=held'].map(
          (filter) => [filter || 'all', getRequest(account, `/manage/deliveries?${place}&${filter}`)],
        ),
      ),
    ),
  })
  return [
    step('reads first pages', 'page=1'),
    step('reads page 500, the last', 'page=500'),
    step('reads by a cursor in the middle', `cursor=${middle}`),
  ]
}

/** Rows that were moved, sent and so on so far. */
const changedRows = async ({ webhooks }: Context): Promise<number> =>
  (
    await webhooks.rows<{ rows: number }>(
      `SELECT n_tup_upd AS rows FROM pg_stat_user_tables WHERE relid = 'deliveries'::regclass`,
    )
  )[0]!.rows

const untilMoved = ({ webhooks }: Context): Promise<unknown> =>
  poll(async () => (await webhooks.rows('SELECT FROM endpoint_syncs')).length === 0, {
    ...{ what: 'deliveries to be moved', timeoutMs: 7_200_000, everyMs: 200 },
  })

const changes = (context: Context, { account, endpoints }: World, seconds: number): Step[] => {
  const { stack } = context
  const path = (id: number) => `/manage/webhook-endpoints/${id}`
  const patch = (id: number, enabled: boolean) => jsonRequest(account, 'PATCH', path(id), { enabled })
  const answeredIn = async (request: Request) => `${plain(await timed(stack.port, request))} ms`
  const changing = async (work: () => Promise<unknown>): Promise<string> => {
    const [before, since] = [await changedRows(context), performance.now()]
    await work()
    const took = (performance.now() - since) / 1000
    return `${plain((await changedRows(context)) - before)} rows changed in ${plain(took)} s`
  }
  const { delivered, held, exhausted } = endpoints
  const since = { since: '2020-01-01T00:00:00Z' }
  return [
    {
      what: 'disables and enables an endpoint with nothing open',
      work: repeat(context, { disable: patch(delivered, false), enable: patch(delivered, true) }),
    },
    {
      what: 'recovers an endpoint',
      work: async () => {
        const recover = await answeredIn(jsonRequest(account, 'POST', `${path(exhausted)}/recover`, since))
        const done = await changing(() => wait(seconds * 1000))
        // Else it goes on for a day.
        return `recover ${recover}, ${done}, disable ${await answeredIn(patch(exhausted, false))}`
      },
    },
    {
      what: 'enables an endpoint that holds, and disables it',
      work: async () => {
        const enable = await answeredIn(patch(held, true))
        const sent = await changing(() => wait(seconds * 1000))
        const disable = await answeredIn(patch(held, false))
        const back = await changing(() => untilMoved(context))
        return `enable ${enable}, ${sent}; disable ${disable}, ${back}`
      },
    },
    {
      what: 'deletes an endpoint that holds',
      work: async () => {
        const deleted = await answeredIn({ ...getRequest(account, path(held)), method: 'DELETE' })
        return `delete ${deleted}, ${await changing(() => untilMoved(context))}`
      },
    },
  ]
}

/** Events and deliveries that were removed so far. */
const prunedRows = async ({ stack }: Context): Promise<number> => {
  const { health } = (await stack.readDev()).services['webhook-service']!
  const metrics = await (await fetch(`${health}/metrics`)).text()
  return Number(/^leadwire_pruned_rows_total{rows="webhooks",[^}]*} (\d+)/m.exec(metrics)?.[1] ?? 0)
}

const pruning = (context: Context, { count, endpoints }: World): Step => {
  const old = count / 100
  let before = 0
  const untilPruned = (rows: number, everyMs: number) =>
    poll(async () => (await prunedRows(context)) >= before + rows, {
      ...{ what: `${rows} rows to be pruned`, timeoutMs: 3_600_000, everyMs },
    })
  return {
    what: 'is pruned',
    begin: async () => {
      before = await prunedRows(context)
      const done = { endpointId: endpoints.delivered, count: old, status: 'delivered' } as const
      await fillDeliveries(context, { ...done, endedAt: Date.now() - 31 * DAY_MS })
      await untilPruned(1, 200)
    },
    work: async () => {
      const since = performance.now()
      await untilPruned(2 * old, 200)
      return `${plain(old)} events and deliveries in ${plain((performance.now() - since) / 1000)} s`
    },
  }
}

const reconcile = ({ folder }: Context, what: string, ...options: string[]): Step => ({
  what,
  work: async () => {
    const since = performance.now()
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(repositoryRoot, 'tools/leadwire/dist/main.js'), 'reconcile', '--json', ...options],
      { env: { ...process.env, LEADWIRE_DATA: join(folder, 'data') } },
    )
    const { leads, delivered, held } = JSON.parse(stdout) as Record<string, number>
    const took = plain((performance.now() - since) / 1000)
    return `${plain(leads!)} leads, ${plain(delivered!)} delivered, ${plain(held!)} held, in ${took} s`
  },
})

/** Creates leads while `work` runs, for some seconds at least. How long answers took, and webhooks after them, in ms. */
const createMeanwhile = async (
  { stack, receiver }: Context,
  account: FilledAccount,
  { seconds, work }: { seconds: number; work: (signal: AbortSignal) => Promise<string> },
) => {
  const stopping = new AbortController()
  let isOver = false
  const working = work(stopping.signal).finally(() => {
    isOver = true
  })
  // Its failure is reported below, when what was begun has ended.
  working.catch(() => undefined)
  const created: Created[] = []
  const load = { port: stack.port, requests: [createRequest(account)], perSecond: BYSTANDER_RATE, seconds }
  do {
    created.push(...(await openLoop(load)))
    stopping.abort()
  } while (!isOver)
  const told = await working
  return {
    told,
    answers: sorted(created.map(({ answeredAt, sentAt }) => answeredAt - sentAt)),
    webhooks: sorted(await receiver.waitsOf(created)),
  }
}

/**
 * What an account notices of another that has years of deliveries, while something is done with them: beside what it notices when
 * nothing is done, right before and right after.
 */
export const history = async (context: Context): Promise<void> => {
  const { leads, options, report } = context
  const [account] = await fillAccounts(leads, 1)
  const seconds = options.quick ? 3 : 20
  const world = await fill(context)
  const steps: Step[] = [
    reconcile(context, 'is reconciled'),
    ...(await lists(context, world)),
    pruning(context, world),
    reconcile(context, 'is reconciled in full', '--full'),
    ...changes(context, world, seconds),
  ]
  await withEndpoints(context, [account!], async () => {
    const create = (work: Step['work']) => createMeanwhile(context, account!, { seconds, work })
    const idle = () => create(async () => '')
    let before = await idle()
    for (const { what, begin, work } of steps) {
      await begin?.()
      const during = await create(work)
      const after = await idle()
      const compare = (name: 'answers' | 'webhooks', share: number) =>
        `${plain(percentile(during[name], share))} (idle ${[before, after].map((row) => plain(percentile(row[name], share))).join(', ')})`
      report.figure({
        what: `webhook of a bystander, p99, while an account with ${plain(world.count)} deliveries ${what}, ms`,
        value: percentile(during.webhooks, 0.99),
        range: [during.webhooks[0]!, during.webhooks.at(-1)!],
        ...{ better: 'less', floor: 1000, aim: 250 },
        detail: `${during.told}; webhook p99 ${compare('webhooks', 0.99)}, create p50 ${compare('answers', 0.5)}, p99 ${compare('answers', 0.99)} ms; load average ${plain(loadavg()[0]!)}`,
      })
      before = after
    }
  })
}
