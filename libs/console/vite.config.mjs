import { defineConfig } from 'vite'

export default defineConfig({
  // The gateway puts the way to the parts into the page, so that the console also works below a path of a proxy.
  base: './',
  resolve: { conditions: ['@leadwire/source', 'module', 'browser', 'production'] },
  // The policy allows no data URL but in images; the hash of each part stands in its name.
  build: { assetsInlineLimit: 0, target: 'es2022', modulePreload: { polyfill: false } },
})
