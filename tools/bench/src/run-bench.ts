import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from './context'
import { seedAccounts } from './data/seed-accounts'
import { seedLeads } from './data/seed-leads'
import { seedQuotes, settleTables } from './data/seed-quotes'
import { startGenerator } from './load/start-generator'
import { startReceiver } from './load/start-receiver'
import { describeMachine, loadBefore, type Machine } from './measure/machine'
import { readMemory, watchMemory } from './measure/memory'
import { profilingEnv } from './measure/profile'
import type { Options } from './options'
import type { Ground } from './process/ground'
import type { Findings, Report } from './report/report'
import { scenarios } from './scenarios'
import { coldStart } from './scenarios/cold-start'
import { scenarioNames } from './scenarios/names'
import { connectSql } from './stack/database'
import { type Stack, startStack, temporaryFolder } from './stack/start-stack'

/** Runs what the options ask for. Everything it starts is on `ground`. */
export async function runBench({
  options,
  ground,
  report,
  say,
}: {
  options: Options
  ground: Ground
  report: Report
  say: (line: string) => void
}): Promise<{ machine: Machine; findings: Findings }> {
  if (process.platform !== 'linux') throw new Error('the benchmark reads /proc: it runs on Linux only')
  const load = loadBefore()
  const startedAt = performance.now()
  const timed = async (name: string, work: () => Promise<void>) => {
    say(`${name} (at ${Math.round((performance.now() - startedAt) / 1000)} s)`)
    await work()
  }
  if (options.only.has('cold-start')) await timed('cold-start', () => coldStart({ options, report, ground }))

  const context = await prepare({ options, ground, report })
  for (const name of scenarioNames) {
    if (name === 'cold-start' || !options.only.has(name)) continue
    // The others are worth their time all the same.
    await timed(name, () => scenarios[name](context)).catch(async (error: Error) => {
      if (ground.isLeft()) throw error
      report.failure(name, error)
      say(`The stack's last warnings:\n${await lastWarnings(context.stack)}`)
    })
  }
  return { machine: await describeMachine(context.leads, load), findings: report.all() }
}

async function prepare({
  options,
  ground,
  report,
}: {
  options: Options
  ground: Ground
  report: Report
}): Promise<Context> {
  const folder = await temporaryFolder(ground)
  const stack = await startStack({ ground, folder, env: profilingEnv })
  await wait(options.quick ? 1000 : 5000)
  const idleMemory = await readMemory(stack)
  const watch = watchMemory(stack)
  ground.onLeave(watch.stop)
  const [generator, receiver] = await Promise.all([startGenerator(), startReceiver()])
  ground.onLeave(generator.stop)
  ground.onLeave(receiver.stop)
  const leads = await connectSql(ground, stack.dev.postgres_url, 'leads')
  const webhooks = await connectSql(ground, stack.dev.postgres_url, 'webhooks')
  return {
    ...{ options, ground, report, folder, stack, generator, receiver, leads, webhooks, idleMemory },
    mostMemory: watch.most,
    quoted: once(async () => {
      const [account] = await seedAccounts(leads, 1)
      await seedLeads(leads, account!, options.quick ? 1000 : 10_000)
      await seedQuotes(leads, account!)
      await settleTables(leads)
      return account!
    }),
    many: once(() => seedAccounts(leads, options.quick ? 100 : 1000)),
  }
}

async function lastWarnings({ logSize, logFrom }: Stack): Promise<string> {
  const tail = await logFrom(Math.max(0, (await logSize()) - 2 ** 20))
  const lines = tail.split('\n').filter((line) => !line.includes(' INFO '))
  return lines.slice(-15).join('\n')
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= work()
    return result
  }
}
