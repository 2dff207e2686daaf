import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { readYaml } from './chart/render.fixture'

const ROOT = resolve(__dirname, '../../..')
const matrix = (...args: string[]) =>
  spawnSync(process.execPath, [resolve(ROOT, 'tools/matrix.cjs'), ...args], { encoding: 'utf8' })

test('the nightly run uses every supported version', () => {
  const rows: Record<string, unknown>[] = readYaml(resolve(ROOT, '.github/workflows/nightly.yml')).jobs.specs
    .strategy.matrix.include
  const list = ['postgres', 'nats', 'node'].map((kind) => {
    const versions = [...new Set(rows.map((row) => String(row[kind])))].sort((a, b) =>
      a.localeCompare(b, 'en', { numeric: true }),
    )
    return `--${kind.padEnd(9)} ${versions.join(', ')}\n`
  })
  expect(matrix('--list')).toMatchObject({ status: 0, stdout: list.join('') })
})

test.each([
  [['--postgres', '14'], 'PostgreSQL 14 is not available; choose one of 15, 16, 17, 18'],
  [['--nats', 'newest'], 'nats-server newest is not available; choose one of 2.9.10, 2.15.2'],
  [['--java', '21'], "Unknown option '--java'"],
])('%j is refused', (args, why) => {
  const { status, stderr } = matrix(...args)
  expect(status).toBe(1)
  expect(stderr).toContain(why)
})
