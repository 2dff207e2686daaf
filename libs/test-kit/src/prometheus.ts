import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, repositoryRoot, startChild, whenReady } from '@leadwire/embedded'
import { watchProcess } from './watch-process'

export type AlertingRule = { name: string; state: 'inactive' | 'pending' | 'firing'; health: string }

export type TestPrometheus = {
  /** The alerting rules as they were evaluated last. */
  rules(): Promise<AlertingRule[]>
  /** What is wrong with an expression; undefined when nothing is. */
  errorOf(expression: string): Promise<string | undefined>
  stop(): Promise<void>
}

/**
 * Prometheus and its promtool: programs on this machine, or taken from the package manager. At once, because specs are
 * chosen before anything may be waited for.
 * @returns their paths, or why they can't be had
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

/** A Prometheus that scrapes these addresses (`host:port`) each second, and evaluates the rules of a file as often. */
export async function startPrometheus(options: {
  binary: string
  targets: string[]
  /** The text of a file of rules. */
  rules: string
}): Promise<TestPrometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'leadwire-prometheus-'))
  // JSON is YAML too.
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
    errorOf: async (expression) => {
      const answer = await get(`/api/v1/query?${new URLSearchParams({ query: expression })}`)
      return ((await answer.json()) as { error?: string }).error
    },
    stop: async () => {
      await child.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
