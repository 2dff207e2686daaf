// No circles between the folders of a project. Specs and fixtures are left out: a spec goes through the public door,
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
  ],
  options: { ...options, exclude: { path: [options.exclude.path, '\\.(spec|fixture)\\.ts$'] } },
}
