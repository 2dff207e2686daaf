import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fillAccounts, fillLeads, fillQuotes, openSql, type Sql, settle } from '@leadwire/fill'
import type { Context } from './context'
import { startReceiver } from './load/start-receiver'
import { describeMachine, loadBefore } from './measure/machine'
import { readMemory, watchMemory } from './measure/memory'
import { type Options, type ScenarioName, scenarioNames } from './options'
import type { Ground } from './process/ground'
import type { Report } from './report/report'
import { bystander } from './scenarios/bystander'
import { coldStart } from './scenarios/cold-start'
import { copies } from './scenarios/copies'
import { duplicates } from './scenarios/duplicates'
import { findLeads } from './scenarios/find-leads'
import { history } from './scenarios/history'
import { isolation } from './scenarios/isolation'
import { memory } from './scenarios/memory'
import { overload } from './scenarios/overload'
import { partitions } from './scenarios/partitions'
import { polls } from './scenarios/polls'
import { schedule } from './scenarios/schedule'
import { create, list, retrieve } from './scenarios/single-process'
import { steady } from './scenarios/steady'
import { sustained } from './scenarios/sustained'
import { tableSize } from './scenarios/table-size'
import { upload } from './scenarios/upload'
import { webhookLatency } from './scenarios/webhook-latency'
import { webhooks } from './scenarios/webhooks'
import { startStack, temporaryFolder } from './stack/start-stack'

const scenarios: Record<Exclude<ScenarioName, 'cold-start'>, (context: Context) => Promise<void>> = {
  ...{ retrieve, list, create, sustained, upload, webhooks, 'webhook-latency': webhookLatency, steady },
  ...{
    'table-size': tableSize,
    find: findLeads,
    isolation,
    bystander,
    overload,
    memory,
    polls,
    schedule,
    copies,
    duplicates,
    history,
    partitions,
  },
}

interface Run {
  options: Options
  ground: Ground
  report: Report
}

/** Runs what the options ask for; answers with what the figures depend on. Everything it starts is on `ground`. */
export const runBench = async ({
  options,
  ground,
  report,
  say,
}: Run & { say: (line: string) => void }): Promise<string[]> => {
  if (process.platform !== 'linux') throw new Error('the benchmark reads /proc: it runs on Linux only')
  const load = loadBefore()
  const startedAt = performance.now()
  const tell = (name: string) => say(`${name} (at ${Math.round((performance.now() - startedAt) / 1000)} s)`)
  if (options.only.has('cold-start')) {
    tell('cold-start')
    await coldStart({ options, report, ground })
  }
  const context = await prepare({ options, ground, report })
  for (const name of scenarioNames) {
    if (name === 'cold-start' || !options.only.has(name)) continue
    tell(name)
    // The others are worth their time all the same.
    await scenarios[name](context).catch(async (error: Error) => {
      if (ground.isLeft()) throw error
      report.failure(name, error)
      say(`The stack's last warnings:\n${context.stack.lastWarnings.join('\n')}`)
    })
  }
  return [...(await describeMachine(context.leads)), load]
}

const prepare = async ({ options, ground, report }: Run): Promise<Context> => {
  const folder = await temporaryFolder(ground)
  const env = options.profile ? profilingEnv(options) : {}
  const stack = await startStack({ ground, folder, env })
  await wait(options.quick ? 1000 : 5000)
  const idleMemory = await readMemory(stack)
  const watch = watchMemory(stack)
  ground.onLeave(watch.stop)
  const receiver = await startReceiver()
  ground.onLeave(receiver.stop)
  const open = (database: string): Sql => {
    const sql = openSql(stack.database(database))
    ground.onLeave(sql.close)
    return sql
  }
  const leads = open('leads')
  const assetsUrl = stack.dev.assets_url
  return {
    ...{ options, ground, report, folder, stack, receiver, leads, webhooks: open('webhooks') },
    ...{ assetsUrl, idleMemory },
    mostMemory: watch.most,
    quoted: once(async () => {
      const [account] = await fillAccounts(leads, 1)
      await fillLeads({ leads, assetsUrl }, account!.id, options.quick ? 1000 : 10_000, { searchable: false })
      await fillQuotes({ leads, assetsUrl }, account!.id)
      await settle(leads, ['leads', 'accounts', 'tokens', 'quotes', 'quote_items'])
      return account!
    }),
    many: once(() => fillAccounts(leads, options.quick ? 100 : 1000)),
  }
}

const profilingEnv = ({ out }: Options) => ({
  NODE_OPTIONS: `--require ${JSON.stringify(join(__dirname, 'measure/profile-this-process.js'))}`,
  BENCH_PROFILES: join(out, 'profiles'),
})

const once = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let result: Promise<T> | undefined
  return () => {
    result ??= work()
    return result
  }
}
