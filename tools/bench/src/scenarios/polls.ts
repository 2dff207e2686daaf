import { setTimeout as wait } from 'node:timers/promises'
import { type FilledAccount, fillAccounts } from '@leadwire/fill'
import { Client } from 'undici'
import type { Context } from '../context'
import { cpuBetween, readCpu } from '../measure/cpu'
import { type Memory, readMemory } from '../measure/memory'
import { median, totalOf } from '../measure/statistics'
import { ask, createRequest, getRequest } from './requests'

const POLLS = 1000
const PATH = '/manage/events?after=now'

/** One connection, which is kept. */
const connect = ({ stack }: Context, account: FilledAccount) => {
  const client = new Client(`http://127.0.0.1:${stack.port}`)
  const get = async (path: string) => {
    const { headers } = getRequest(account, path)
    const { statusCode, body } = await client.request({ method: 'GET', path, headers: headers! })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`${path} was answered ${statusCode} ${text}`)
  }
  return { get, close: () => client.destroy() }
}

const added = (before: Memory, after: Memory): Memory =>
  Object.fromEntries(Object.entries(after).map(([name, size]) => [name, size - before[name]!]))

const listed = (values: Record<string, number>) =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${Math.round(value)}`)
    .join(', ')

/** What polls cost that wait for events, on connections that are open already: all of one account, or each of an account of its own. */
const waitingPolls = async (context: Context, accounts: FilledAccount[], whose: string) => {
  const { stack, report } = context
  const none = await readMemory(stack)
  const connections = Array.from({ length: POLLS }, (_, at) =>
    connect(context, accounts[at % accounts.length]!),
  )
  for (let at = 0; at < POLLS; at += 50)
    await Promise.all(connections.slice(at, at + 50).map(({ get }) => get(PATH)))
  await wait(5000)
  const idle = await readMemory(stack)
  const polls = connections.map(({ get }) => get(`${PATH}&wait=30`))
  await wait(5000)
  const cpu = await readCpu(stack)
  await wait(15_000)
  const used = cpuBetween(cpu, await readCpu(stack))
  const memory = added(idle, await readMemory(stack))
  await Promise.all(polls)
  await Promise.all(connections.map(({ close }) => close()))
  const of = `${POLLS} waiting polls of ${whose}`
  report.series({
    ...{
      what: `resident memory of ${of}, MiB`,
      values: [totalOf(memory)],
      better: 'less',
      floor: 50,
      aim: 25,
    },
    detail: `${listed(memory)}; their connections before: ${listed(added(none, idle))}`,
  })
  const perSecond = Object.fromEntries(Object.entries(used).map(([name, time]) => [name, time / 15_000]))
  report.series({
    ...{ what: `processor time of ${of}, ms a second`, values: [totalOf(perSecond)], better: 'less' },
    detail: listed(perSecond),
  })
}

/** From the answer to a create until the answer to a poll that waits for its event. */
const delays = async (context: Context, account: FilledAccount, count: number): Promise<number[]> => {
  const { get, close } = connect(context, account)
  const times: number[] = []
  while (times.length < count) {
    const poll = get(`${PATH}&wait=30`).then(() => performance.now())
    await wait(20)
    await ask(context.stack.port, createRequest(account))
    const answeredAt = performance.now()
    times.push((await poll) - answeredAt)
  }
  await close()
  return times
}

/** What it costs to wait for events, and how soon they come. */
export const polls = async (context: Context): Promise<void> => {
  const { leads, report, options } = context
  const accounts = await fillAccounts(leads, POLLS)
  await waitingPolls(context, accounts.slice(0, 1), 'one account')
  await waitingPolls(context, accounts, 'as many accounts')
  const times = await delays(context, accounts[0]!, options.quick ? 20 : 200)
  report.series({
    ...{ what: 'from the answer to a create to that of a waiting poll, median, ms', values: [median(times)] },
    ...{ better: 'less', floor: 20, aim: 10 },
  })
}
