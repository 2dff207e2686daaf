import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import { multipartBody } from '../../support/client'
import { type Stage, startStage } from '../../support/stage'

const ROOT = resolve(__dirname, '../../../..')
const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8')

const DASHBOARDS = readdirSync(join(ROOT, 'deploy/grafana'))
const RULES = read('deploy/prometheus/alerts.yaml')
const DOCUMENT = read('docs/operations.md')

/**
 * The allowed labels. Each value of a label creates a series, so a label that identified an account, a lead
 * or an address would create an unlimited number of series.
 */
const LABELS = [
  'service',
  'method',
  'route',
  'status',
  'code',
  'outcome',
  'le',
  'state',
  'kind',
  'rows',
  'dependency',
  'batcher',
  'pool',
  'consumer',
  'direction',
  'operation',
  // Labels of the default metrics of Node.js.
  'version',
  'major',
  'minor',
  'patch',
  'space',
  'type',
  'quantile',
]

let stage: Stage
let exposed: string
beforeAll(async () => {
  stage = await startStage()
  const tenant = await stage.newTenant()
  const { receiver } = await tenant.listen()
  const { reference } = await tenant.createLead()
  const fields = [
    { name: 'name', value: 'a' },
    { name: 'file', value: 'a text', fileName: 'a.txt' },
  ]
  await tenant.send('POST', `/leads/${reference}/attachments`, {
    body: multipartBody(fields, 'b'),
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  })
  const user = await tenant.send('POST', '/manage/users', { json: { email: 'u@example.com', name: 'U' } })
  await tenant.send('POST', `/leads/${reference}/callbacks`, {
    json: { notify: true, user_id: user.id, date: '01/02/2030 10:00' },
  })
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const scrape = async () => {
    const texts = stage.system.services.map(async ({ health }) => (await fetch(`${health}/metrics`)).text())
    return (await Promise.all(texts)).join('\n')
  }
  exposed = await eventually(async () => {
    const text = await scrape()
    expect(text).toMatch(/^leadwire_webhook_attempts_total\{outcome="delivered".*\} 1$/m)
    expect(text).toMatch(/^leadwire_notification_attempts_total\{outcome="delivered".*\} 1$/m)
    expect(text).toMatch(/^leadwire_pruned_rows_total\{rows="files"/m)
    // This gauge has no samples until NATS has responded to a query within a second.
    expect(text).toMatch(/^leadwire_stream_pending\{/m)
    return text
  })
})
afterAll(() => stage.stop())

test('leads-service has 10 connections to PostgreSQL and webhook-service 15', () => {
  const sizes = exposed.matchAll(/^leadwire_database_pool_size\{.*pool="(\w+)".*\} (\d+)$/gm)
  const found = Object.fromEntries([...sizes].map(([, pool, size]) => [pool, Number(size)]))
  expect(found).toEqual({ leads: 10, webhooks: 10, webhooks_queue: 5 })
})

const namesIn = (text: string) => [
  ...new Set(
    [...text.matchAll(/\b(?:leadwire|http|grpc|files|nodejs|process)_[a-z0-9_]+/g)].map(([name]) => name),
  ),
]

const readExpressions = (dashboard: string): string =>
  (JSON.parse(dashboard).panels as { targets: { expr: string }[] }[])
    .flatMap(({ targets }) => targets.map(({ expr }) => expr))
    .join('\n')

const hasSamples = (name: string) => new RegExp(`^${name}(\\{| )`, 'm').test(exposed)

test.each(DASHBOARDS)('every metric in %s exists', (file) => {
  const names = namesIn(readExpressions(read('deploy/grafana', file)))
  expect(names).not.toEqual([])
  expect(names.filter((name) => !hasSamples(name))).toEqual([])
})

test('every metric in an alert exists', () => {
  const names = namesIn(RULES)
  expect(names).not.toEqual([])
  expect(names.filter((name) => !hasSamples(name))).toEqual([])
})

test('docs/operations.md lists exactly the metrics of the services', () => {
  const ours = [...exposed.matchAll(/^# TYPE ((?:leadwire|http|grpc|files)_\S+)/gm)].map(([, name]) => name!)
  const section = DOCUMENT.split('\n## Metrics\n')[1]!.split('\n## ')[0]!
  const told = namesIn(section.replaceAll('leadwire_notification_…', ''))
  const known = ours.filter((name) => !name.startsWith('leadwire_notification_'))
  expect(told.filter((name) => /^(leadwire_[a-mo-z]|http_|grpc_|files_)/.test(name)).sort()).toEqual(
    [...new Set(known)].sort(),
  )
})

test('metrics have only the allowed labels', () => {
  const labels = [...exposed.matchAll(/[{,]([a-z_]+)="/g)].map(([, name]) => name!)
  expect([...new Set(labels)].filter((name) => !LABELS.includes(name))).toEqual([])
})

test('every alert has a runbook', () => {
  const alerts = [...RULES.matchAll(/- alert: (\S+)/g)].map(([, name]) => name!)
  const runbooks = [...RULES.matchAll(/runbook: docs\/operations\.md#(\S+)/g)].map(([, anchor]) => anchor!)
  const headings = [...DOCUMENT.matchAll(/^### (\S+)\n\n\S/gm)].map(([, name]) => name!)
  expect(runbooks).toEqual(alerts.map((name) => name.toLowerCase()))
  expect(headings.filter((name) => name.startsWith('Leadwire'))).toEqual(alerts)
})
