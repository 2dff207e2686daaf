// One run for every project: the PostgreSQL server behind the specs is started once (global set-up), and each spec file
// makes databases of its own in it.
const { readdirSync, existsSync } = require('node:fs')

const project = (dir) => ({
  displayName: dir.split('/')[1],
  rootDir: `${__dirname}/${dir}`,
  testMatch: ['<rootDir>/src/**/*.spec.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
  testEnvironment: `${__dirname}/libs/test-kit/environment.cjs`,
  testEnvironmentOptions: { customExportConditions: ['@leadwire/source', 'node', 'require', 'default'] },
})

module.exports = {
  globalSetup: `${__dirname}/libs/test-kit/global-setup.cjs`,
  globalTeardown: `${__dirname}/libs/test-kit/global-teardown.cjs`,
  // Only ends what hangs: longer than the limit of what is waited for inside (libs/test-kit, eventually).
  testTimeout: 120_000,
  maxWorkers: process.env.CI ? 2 : '100%',
  projects: ['apps', 'libs', 'tools'].flatMap((root) =>
    readdirSync(`${__dirname}/${root}`)
      .filter((name) => existsSync(`${__dirname}/${root}/${name}/package.json`))
      .map((name) => project(`${root}/${name}`)),
  ),
}
