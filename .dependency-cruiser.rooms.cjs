// Forbids cycles between the folders of a project. Also keeps the gateway's shared folders (such as admission
// and api) from importing its features. Excludes specs and fixtures, because a spec imports the public entry
// of its feature, which lies above the spec's folder. .dependency-cruiser.cjs has the rules for single files,
// specs included.
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
      from: { path: '^apps/gateway/src/(admission|api|auth|body|clients|http)/' },
      to: {
        path: '^apps/gateway/src/',
        pathNot: '^apps/gateway/src/(admission|api|auth|body|clients|http)/',
      },
    },
  ],
  options: { ...options, exclude: { path: [...options.exclude.path, '\\.(spec|fixture)\\.ts$'] } },
}
