// No circles between the folders of a project, and no feature below the rooms that all features of the gateway use. Specs and fixtures are left out: a spec goes through the public door,
// which lies above its folder. The rules for single files, specs included, are in .dependency-cruiser.cjs.
const { options } = require('./.dependency-cruiser.cjs')

module.exports = {
  forbidden: [
    {
      name: 'no-room-cycles',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
    {
      name: 'gateway-features-on-top',
      severity: 'error',
      from: { path: '^apps/gateway/src/(admission|api|auth|body|clients|http|validation)/' },
      to: {
        path: '^apps/gateway/src/',
        pathNot: '^apps/gateway/src/(admission|api|auth|body|clients|http|validation)/',
      },
    },
  ],
  options: { ...options, exclude: { path: [...options.exclude.path, '\\.(spec|fixture)\\.ts$'] } },
}
