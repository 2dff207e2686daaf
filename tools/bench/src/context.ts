import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import {
  type FilledAccount,
  fillAccounts,
  fillLeads,
  fillQuotes,
  openSql,
  type Sql,
  vacuum,
} from '@leadwire/fill'
import { type Receiver, startReceiver } from './load/start-receiver'
import { type Memory, readMemory, watchMemory } from './measure/memory'
import type { Options } from './options'
import type { Cleanups } from './process/cleanups'
import type { Report } from './report/report'
import { createTemporaryFolder } from './stack/create-temporary-folder'
import { type Stack, startStack } from './stack/start-stack'

/** The options of a run, and the collectors to which scenarios add cleanups and findings. */
export interface Run {
  options: Options
  cleanups: Cleanups
  report: Report
}

/** Everything that scenarios on a running stack use. */
export interface Context extends Run {
  folder: string
  stack: Stack
  receiver: Receiver
  /** Connections to the stack's databases. */
  leads: Sql
  webhooks: Sql
  /** The base URL of the stack's images. */
  assetsUrl: string
  /** The memory of the idle services, sampled before the first load. */
  idleMemory: Memory
  readPeakMemory: () => Memory
  /** Returns an account whose leads have quotes. Stores it at the first call. */
  getAccountWithQuotes: () => Promise<FilledAccount>
  /** Returns 1,000 accounts without leads (100 in a quick run). Stores them at the first call. */
  getManyAccounts: () => Promise<FilledAccount[]>
}

/** Starts the stack and a receiver. */
export const createContext = async ({ options, cleanups, report }: Run): Promise<Context> => {
  const folder = await createTemporaryFolder(cleanups)
  const env = options.profile ? createProfilingEnv(options) : {}
  const stack = await startStack({ cleanups, folder, env })
  // Waits, because the services continue to allocate memory for some seconds after they are ready.
  await wait(options.quick ? 1000 : 5000)
  const idleMemory = await readMemory(stack)
  const memory = watchMemory(stack)
  cleanups.add(memory.stop)
  const receiver = await startReceiver()
  cleanups.add(receiver.stop)
  const openDatabase = (name: string): Sql => {
    const sql = openSql(stack.databaseUrl(name))
    cleanups.add(sql.close)
    return sql
  }
  const leads = openDatabase('leads')
  const webhooks = openDatabase('webhooks')
  const assetsUrl = stack.dev.assets_url
  const storeAccountWithQuotes = async () => {
    const [account] = await fillAccounts(leads, 1)
    await fillLeads({ leads, assetsUrl }, account!.id, options.quick ? 1000 : 10_000, { searchable: false })
    await fillQuotes({ leads, assetsUrl }, account!.id)
    await vacuum(leads, ['leads', 'accounts', 'tokens', 'quotes', 'quote_items'])
    return account!
  }
  return {
    options,
    cleanups,
    report,
    folder,
    stack,
    receiver,
    leads,
    webhooks,
    assetsUrl,
    idleMemory,
    readPeakMemory: memory.readPeak,
    getAccountWithQuotes: once(storeAccountWithQuotes),
    getManyAccounts: once(() => fillAccounts(leads, options.quick ? 100 : 1000)),
  }
}

const createProfilingEnv = ({ out }: Options) => ({
  NODE_OPTIONS: `--require ${JSON.stringify(join(__dirname, 'measure/profile-this-process.js'))}`,
  BENCH_PROFILES: join(out, 'profiles'),
})

/** Returns a function that calls `work` once, at its first call, and returns this result from every call. */
const once = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let result: Promise<T> | undefined
  return () => {
    result ??= work()
    return result
  }
}
