import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageFolder, vectors } from '../vectors.fixture'

// The limit is high, because installing the build tools of the wheel takes long on a busy machine.
jest.setTimeout(180_000)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-packages-'))
  for (const language of ['python', 'php'])
    cpSync(join(packageFolder, language), join(folder, language), { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (program: string, args: string[], settings: NodeJS.ProcessEnv = {}) => {
  const env = { ...process.env, VECTORS: join(packageFolder, 'vectors.json'), ...settings }
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error ?? `${stdout}${stderr}`}`)
  return stdout
}

const succeeds = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
const hasPython = succeeds('python3', '-c', 'import ensurepip, venv')
const hasPhp = succeeds('php', '-r', 'exit(PHP_VERSION_ID < 80100 ? 1 : 0);')
const hasComposer = hasPhp && succeeds('composer', '--version')

/** Defines a test, which is skipped with the reason if its programs are missing. */
const testIf = (isPresent: boolean, missing: string) => (name: string, body: () => void) =>
  isPresent ? it(name, body) : it.skip(`${name} (skipped: ${missing} is missing)`, body)

const text = (path: string) => readFileSync(join(packageFolder, path), 'utf8')

testIf(hasPython, 'python3 with venv')('Python: the installed wheel passes its tests', () => {
  run('python3', ['-m', 'venv', 'venv'])
  const python = join(folder, 'venv/bin/python')
  run(python, ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', 'dist', './python'])
  const [wheel] = readdirSync(join(folder, 'dist'))
  const { version } = JSON.parse(text('package.json'))
  expect(wheel).toBe(`leadwire_webhook_receiver-${version}-py3-none-any.whl`)
  run(python, ['-m', 'pip', 'install', '--quiet', '--no-index', `dist/${wheel}`])
  expect(run(python, ['python/tests/test_receiver.py'])).toContain(`${vectors.length} vectors`)
  const listed = run(python, ['-m', 'pip', 'show', '--files', 'leadwire-webhook-receiver'])
  expect(listed).toMatch(/^Requires: *$/m)
  expect(listed).toContain('leadwire_webhook_receiver/py.typed')
})

testIf(hasPhp, 'PHP 8.1')('PHP: the classes, loaded as composer.json says, pass their tests', () => {
  const [[namespace, path]] = Object.entries(JSON.parse(text('php/composer.json')).autoload['psr-4']) as [
    [string, string],
  ]
  writeFileSync(
    join(folder, 'autoload.php'),
    `<?php
spl_autoload_register(function (string $class): void {
    require __DIR__ . '/php/${path}' . strtr(substr($class, ${namespace.length}), '\\\\', '/') . '.php';
});`,
  )
  const AUTOLOAD = join(folder, 'autoload.php')
  expect(run('php', ['php/tests/run.php'], { AUTOLOAD })).toBe(`${vectors.length} vectors\n`)
})

testIf(hasComposer, 'composer')(
  'PHP: the package is valid, and the installed package passes its tests',
  () => {
    run('composer', ['validate', '--strict', '--no-interaction', 'php/composer.json'])
    const manifest = {
      repositories: [{ type: 'path', url: 'php', options: { symlink: false } }, { 'packagist.org': false }],
      require: { 'leadwire/webhook-receiver': '@dev' },
    }
    writeFileSync(join(folder, 'composer.json'), JSON.stringify(manifest))
    run('composer', ['install', '--quiet', '--no-interaction'])
    const AUTOLOAD = join(folder, 'vendor/autoload.php')
    expect(run('php', ['php/tests/run.php'], { AUTOLOAD })).toBe(`${vectors.length} vectors\n`)
  },
)

it.each(['python', 'php'])('%s has the licence', (language) => {
  expect(text(`${language}/LICENSE`)).toBe(text('LICENSE'))
})
