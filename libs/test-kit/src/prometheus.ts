import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, repositoryRoot, startChild, whenReady } from '@leadwire/embedded'
import { watchProcess } from './watch-process'

export type AlertingRule = { name: string; state: 'inactive' | 'pending' | 'firing'; health: string }

export type TestPrometheus = {
  /** Returns the alerting rules with the results of their last evaluation. */
  rules(): Promise<AlertingRule[]>
  /** Returns the error of an expression, or undefined if the expression is valid. */
  findQueryError(expression: string): Promise<string | undefined>
  stop(): Promise<void>
}

/**
 * Finds Prometheus and promtool on this machine, or gets them from the package manager. Runs synchronously,
 * because a spec file selects its tests before it can wait for anything. Returns the paths, or the reason why
 * there are none.
 */
export function findPrometheus(): { prometheus: string; promtool: string } | { reason: string } {
  const script = `
    const { findPrometheus } = require('./tools/embedded/dist/index.js')
    const find = (name) => findPrometheus(name, process.env)
    find('prometheus')
      .then(async (prometheus) => console.log(JSON.stringify({ prometheus, promtool: await find('promtool') })))
      .catch((error) => console.log(JSON.stringify({ reason: error.message })))`
  const { stdout } = spawnSync(process.execPath, ['-e', script], {
    cwd: repositoryRoot,
    encoding: 'utf8',
    timeout: 120_000,
  })
  return stdout ? JSON.parse(stdout) : { reason: 'it could not be found in time' }
}

/** Starts a Prometheus that scrapes `targets` (`host:port`) and evaluates `rules` every second. */
export async function startPrometheus(options: {
  binary: string
  targets: string[]
  /** The content of a file of alerting rules. */
  rules: string
}): Promise<TestPrometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'leadwire-prometheus-'))
  // The file is written as JSON, which is also YAML.
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'leadwire', static_configs: [{ targets: options.targets }] }],
  }
  await writeFile(join(directory, 'prometheus.yaml'), JSON.stringify(config))
  await writeFile(join(directory, 'rules.yaml'), options.rules)
  const address = `127.0.0.1:${await freePort()}`
  const child = watchProcess(
    await startChild({
      name: 'prometheus',
      command: options.binary,
      args: [
        '--config.file=prometheus.yaml',
        '--storage.tsdb.path=data',
        `--web.listen-address=${address}`,
        '--log.level=warn',
      ],
      cwd: directory,
    }),
  )
  const get = (path: string) => fetch(`http://${address}${path}`)
  await whenReady(child, async () => (await get('/-/ready')).ok, { timeoutMs: 30_000 })
  return {
    rules: async () => {
      const answer = (await (await get('/api/v1/rules?type=alert')).json()) as {
        data: { groups: { rules: AlertingRule[] }[] }
      }
      return answer.data.groups.flatMap(({ rules }) => rules)
    },
    findQueryError: async (expression) => {
      const answer = await get(`/api/v1/query?${new URLSearchParams({ query: expression })}`)
      return ((await answer.json()) as { error?: string }).error
    },
    stop: async () => {
      await child.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
