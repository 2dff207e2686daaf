import { defineConfig } from 'vite'

export default defineConfig({
  // Makes all URLs relative. The gateway inserts the base path into the page, so that the console works below
  // a path of a proxy.
  base: './',
  resolve: { conditions: ['@leadwire/source', 'module', 'browser', 'production'] },
  // Inlines no assets, because the content security policy allows data URLs only for images.
  build: { assetsInlineLimit: 0, target: 'es2022', modulePreload: { polyfill: false } },
})
