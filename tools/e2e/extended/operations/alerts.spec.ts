import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { eventually, findPrometheus, startPrometheus, type TestPrometheus } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../../support/stage'

const FOLDER = resolve(__dirname, '../../../../deploy/prometheus')
const RULES = readFileSync(join(FOLDER, 'alerts.yaml'), 'utf8')

// Shortens the times in the rules (`for`, the ranges of rates, and the limits of waits), so that alerts fire
// within seconds.
const QUICK_RULES = RULES.replace(/ for: \w+/g, ' for: 1s')
  .replace(/\[\d+m\]/g, '[5s]')
  .replace(/(oldest\w*_seconds\S*\)) > \d+/g, '$1 > 2')

const found = findPrometheus()
if ('reason' in found) console.warn(`SKIPPED: the specs of alerts. No Prometheus: ${found.reason}`)

;('reason' in found ? describe.skip : describe)('alerts', () => {
  const programs = found as { prometheus: string; promtool: string }
  const promtool = (...args: string[]) =>
    spawnSync(programs.promtool, args, { cwd: FOLDER, encoding: 'utf8', timeout: 60_000 })

  test('the rules are valid, and pass their unit tests', () => {
    for (const args of [
      ['check', 'rules', 'alerts.yaml'],
      ['test', 'rules', 'alerts.test.yaml'],
    ]) {
      const { status, stdout, stderr } = promtool(...args)
      expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' })
    }
  })

  describe('of a running stack', () => {
    let stage: Stage
    let tenant: Tenant
    let prometheus: TestPrometheus
    beforeAll(async () => {
      stage = await startStage({ env: { WEBHOOK_ENDPOINT_CONCURRENCY: '1', RECONCILE_INTERVAL: '1s' } })
      tenant = await stage.newTenant()
      prometheus = await startPrometheus({
        binary: programs.prometheus,
        targets: stage.system.services.map(({ health }) => new URL(health).host),
        rules: QUICK_RULES,
      })
    })
    afterAll(async () => {
      await prometheus.stop()
      await stage.stop()
    })

    const inState = async (...states: string[]) =>
      (await prometheus.rules()).filter(({ state }) => states.includes(state)).map(({ name }) => name)

    const allQuiet = () =>
      eventually(async () => {
        const rules = await prometheus.rules()
        expect(rules.filter(({ health, state }) => health !== 'ok' || state !== 'inactive')).toEqual([])
      })

    const fires = (name: string) => eventually(async () => expect(await inState('firing')).toContain(name))

    test('no alert fires on a healthy stack', async () => {
      const { receiver } = await tenant.listen()
      await tenant.createLead()
      await eventually(() => expect(receiver.requests).toHaveLength(1))
      await allQuiet()
    })

    test('every expression of the dashboards is valid', async () => {
      const folder = resolve(FOLDER, '../grafana')
      const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
      const expressions = texts.flatMap((text) =>
        (JSON.parse(text).panels as { targets: { expr: string }[] }[]).flatMap(({ targets }) =>
          targets.map(({ expr }) => expr),
        ),
      )
      const errors = await Promise.all(expressions.map(prometheus.findQueryError))
      expect(errors.filter((error) => error !== undefined)).toEqual([])
    })

    test('LeadwireServiceAbsent fires when a service is unavailable', async () => {
      await stage.system.kill('files-service')
      await fires('LeadwireServiceAbsent')
      await stage.system.restart('files-service')
      await allQuiet()
    })

    test('LeadwireDeliveriesLate fires when due attempts do not start', async () => {
      const { receiver } = await tenant.listen()
      receiver.answerWith('hang')
      // Each attempt lasts 10 s, and the others wait for it. A single waiting attempt would start after 10 s,
      // which may be too soon for the alert.
      for (let count = 0; count < 5; count += 1) await tenant.createLead()
      await fires('LeadwireDeliveriesLate')
    })

    test('LeadwireOutboxStuck fires while NATS is unavailable', async () => {
      await stage.system.nats.kill()
      await tenant.createLead()
      await fires('LeadwireOutboxStuck')
      await stage.system.nats.restart()
    })
  })
})
