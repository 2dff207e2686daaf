// Three tiers of specs. The folder of a spec decides its tier (CONTRIBUTING.md, "Specs").
const { availableParallelism } = require('node:os')

const SCENARIOS = '<rootDir>/tools/e2e/scenarios/'
const EXTENDED = '/extended/'

// The packages that contain only ES modules, which jest can't load without a transformation.
const ES_MODULES = ['openid-client', 'oauth4webapi', 'jose']

const toCommonJs = (syntax) => [
  '@swc/jest',
  {
    jsc: { target: 'es2023', parser: { syntax } },
    module: { type: 'commonjs' },
    sourceMaps: 'inline',
  },
]

const tier = ({ displayName, testMatch, except = [], setupFiles = [] }) => ({
  displayName,
  rootDir: __dirname,
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/tools'],
  testMatch,
  testPathIgnorePatterns: ['/node_modules/', ...except],
  // The generated clients have their own packages, whose names would collide with the names of this
  // repository's packages.
  modulePathIgnorePatterns: ['/dist/', '/tools/e2e/generated-clients/'],
  setupFiles,
  transform: {
    '^.+\\.ts$': toCommonJs('typescript'),
    [`/node_modules/(${ES_MODULES.join('|')})/.+\\.js$`]: toCommonJs('ecmascript'),
  },
  transformIgnorePatterns: [`/node_modules/(?!(${ES_MODULES.join('|')})/)`],
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['@leadwire/source', 'node', 'require', 'default'] },
})

module.exports = {
  // One PostgreSQL server serves the whole run. Each spec file creates its own databases in it.
  globalSetup: `${__dirname}/libs/test-kit/global-setup.cjs`,
  globalTeardown: `${__dirname}/libs/test-kit/global-teardown.cjs`,
  // Ends only a test that hangs, because `eventually` has a shorter limit.
  testTimeout: 120_000,
  // More workers than cores, because a spec file spends part of its time waiting for a pause, a timeout or a
  // process.
  maxWorkers: availableParallelism() + 2,
  workerIdleMemoryLimit: '800MB',
  projects: [
    tier({ displayName: 'specs', testMatch: ['**/*.spec.ts'], except: [SCENARIOS, EXTENDED] }),
    tier({ displayName: 'scenarios', testMatch: [`${SCENARIOS}**/*.spec.ts`] }),
    tier({ displayName: 'extended', testMatch: ['**/extended/**/*.spec.ts'] }),
    tier({
      // These specs together use every connection between the parts of a stack, here with TLS.
      displayName: 'extended-tls',
      testMatch: ['**/scenarios/{leads,webhooks,events}.spec.ts', '**/extended/files/attachments.spec.ts'],
      setupFiles: ['<rootDir>/libs/test-kit/use-tls.cjs'],
    }),
  ],
}
