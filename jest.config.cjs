// One run for every project: the PostgreSQL server behind the specs is started once (global set-up), and each spec file
// makes databases of its own in it.
const { readdirSync, existsSync } = require('node:fs')
const { availableParallelism } = require('node:os')

// What uses each connection between the parts of a stack once.
const ON_TLS = '{conformance/walk,webhooks/events,operations/notify,files/attachments}.spec.ts'

const project = (dir, { displayName = dir.split('/')[1], specs = '**/*.spec.ts', env = {} } = {}) => ({
  displayName,
  rootDir: `${__dirname}/${dir}`,
  testMatch: [`<rootDir>/src/${specs}`],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        // Specs of programs use little of what is imported. Where a service runs in a spec's process, it is loaded before it serves.
        module: { type: 'commonjs', lazy: dir.startsWith('tools/') },
        sourceMaps: 'inline',
      },
    ],
  },
  testEnvironment: `${__dirname}/libs/test-kit/environment.cjs`,
  runtime: `${__dirname}/libs/test-kit/runtime.cjs`,
  testEnvironmentOptions: {
    customExportConditions: ['@leadwire/source', 'node', 'require', 'default'],
    env,
  },
})

module.exports = {
  globalSetup: `${__dirname}/libs/test-kit/global-setup.cjs`,
  globalTeardown: `${__dirname}/libs/test-kit/global-teardown.cjs`,
  // Only ends what hangs: longer than the limit of what is waited for inside (libs/test-kit, eventually).
  testTimeout: 120_000,
  testSequencer: `${__dirname}/libs/test-kit/sequencer.cjs`,
  // A spec file waits for part of its time: for a pause, a timeout, a process that starts.
  maxWorkers: availableParallelism() + 2,
  // Packages that files share keep parts of earlier files in memory: a worker that holds more is replaced.
  workerIdleMemoryLimit: '600MB',
  projects: [
    ...['apps', 'libs', 'tools'].flatMap((root) =>
      readdirSync(`${__dirname}/${root}`)
        .filter((name) => existsSync(`${__dirname}/${root}/${name}/package.json`))
        .map((name) => project(`${root}/${name}`)),
    ),
    // Of the whole test command (tools/test.cjs).
    ...(process.env.LEADWIRE_TEST_ALL
      ? [project('tools/e2e', { displayName: 'e2e-tls', specs: ON_TLS, env: { LEADWIRE_TEST_TLS: '1' } })]
      : []),
  ],
}
