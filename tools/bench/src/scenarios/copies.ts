import { readFile } from 'node:fs/promises'
import { poll } from '@leadwire/embedded'
import { type FilledAccount, fillAccounts, fillEndpoints, openSql, type Sql } from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { type LoadResult, load } from '../load/load'
import { median } from '../measure/statistics'
import { inFolder } from '../stack/in-folder'
import { type Stack, startStack } from '../stack/start-stack'
import { createRequest, getRequest } from './requests'
import { measured } from './rounds'

const COPIES = [1, 2, 4]
const CONNECTIONS = 64
/** Accounts that share the load, each with an endpoint. */
const ACCOUNTS = 16

/** The port of each copy of the gateway: dev.json names the first one alone. */
const gatewayPorts = async ({ dev }: Stack): Promise<number[]> => {
  const gateways = Object.entries(dev.services).filter(([name]) => name.startsWith('gateway'))
  return Promise.all(
    gateways.map(async ([, { pid }]) => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8')
      return Number(/(?:^|\0)PORT=(\d+)/.exec(environment)![1])
    }),
  )
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)

/** The same load, shared by the copies of the gateway as a balancer would. */
const loadAll = async (ports: number[], requests: Request[], amount: number): Promise<LoadResult> => {
  const share = { connections: CONNECTIONS / ports.length, amount: amount / ports.length, seconds: 0 }
  const results = await Promise.all(ports.map((port) => load({ ...share, port, requests })))
  return {
    requests: sum(results.map((result) => result.requests)),
    perSecond: sum(results.map(({ perSecond }) => perSecond)),
    p50: median(results.map(({ p50 }) => p50)),
    p99: Math.max(...results.map(({ p99 }) => p99)),
  }
}

const BYTES = `
  SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal,
    (SELECT sum(pg_database_size(datname))::float8 FROM pg_database) AS disk`

const bytesOf = async (sql: Sql) => (await sql.rows<{ wal: number; disk: number }>(BYTES))[0]!

/** Creates leads with a webhook each, and waits for these; of how many leads webhooks came, and of how many again. */
const createAll = async (
  { receiver }: Context,
  { ports, accounts, amount }: { ports: number[]; accounts: FilledAccount[]; amount: number },
) => {
  await receiver.take()
  const result = await loadAll(ports, accounts.map(createRequest), amount)
  await poll(async () => (await receiver.count()) >= result.requests, {
    ...{ what: `${result.requests} webhooks`, timeoutMs: 120_000, everyMs: 100 },
  })
  const arrivals = await receiver.take()
  const told = new Set(arrivals.map(([reference]) => reference)).size
  return { ...result, told, again: arrivals.length - told }
}

const measureCopies = async (context: Context, count: number): Promise<void> => {
  const { report, leads, webhooks, stack, receiver, options } = context
  const ports = await gatewayPorts(stack)
  const accounts = await fillAccounts(leads, ACCOUNTS)
  for (const { id: accountId } of accounts)
    await fillEndpoints(webhooks, {
      ...{ accountId, count: 1, url: receiver.url, encryptionKeys: stack.encryptionKeys },
    })
  const name = count === 1 ? 'one copy of each service' : `${count} copies of each service`
  const amount = options.quick ? 512 : 16_384
  await createAll(context, { ports, accounts, amount })

  const before = await bytesOf(leads)
  const created = await measured(context, () => createAll(context, { ports, accounts, amount }))
  const after = await bytesOf(leads)
  const kilobytes = (what: 'wal' | 'disk') =>
    ((after[what] - before[what]) / created.requests / 1000).toFixed(1)
  report.series({
    ...{
      what: `creates with their webhooks, ${name}`,
      values: [created.perSecond],
      better: 'more',
      unit: '/s',
    },
    detail: `${created.told} of ${created.requests} leads had a webhook, ${created.again} of them again; of each ${kilobytes('wal')} kB of WAL, ${kilobytes('disk')} kB of tables`,
  })
  report.cpu(`a create with its webhook, ${name}`, [created])

  const pages = accounts.map((account) => getRequest(account, '/leads'))
  await loadAll(ports, pages, amount)
  const read = await measured(context, () => loadAll(ports, pages, amount))
  report.series({
    ...{ what: `pages of the list, ${name}`, values: [read.perSecond], better: 'more', unit: '/s' },
  })
  report.cpu(`a page of the list, ${name}`, [read])
}

/** What one, two and four copies of each service serve on this machine, and what a lead takes of it: what capacity is planned by. */
export const copies = async (context: Context): Promise<void> => {
  for (const count of COPIES)
    await inFolder(context.ground, async (folder, ground) => {
      const stack = await startStack({ ground, folder, args: ['--replicas', String(count)] })
      const open = (database: string): Sql => {
        const sql = openSql(stack.database(database))
        ground.onLeave(sql.close)
        return sql
      }
      await measureCopies({ ...context, stack, leads: open('leads'), webhooks: open('webhooks') }, count)
    })
}
