import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { COLOR_SCHEMES, violations } from '../console/axe.fixture'
import { findChromium, openTab, startChromium, type Tab } from '../console/chromium.fixture'
import { type Stage, startStage } from '../stage.fixture'

const GUIDES = readdirSync(resolve(__dirname, '../../../../docs/guides')).map((file) =>
  file.replace('.md', ''),
)
const REFERENCE: Record<string, string> = {
  '/docs': 'Stores sales leads',
  '/docs#?route=post-/leads': 'Creates a lead with',
}
const PAGES = [
  ...['/', '/problems', ...Object.keys(REFERENCE)],
  ...GUIDES.map((name) => `/docs/guides/${name}`),
]

const chromium = findChromium()
const suite = chromium ? describe : describe.skip
if (!chromium) {
  console.warn('The pages were not tried: there is no Chromium here. Set CHROMIUM_BIN, or put one on PATH.')
}

// In shadow roots too: the reference clips what is too wide, so that its page never is. Code and tables scroll in boxes of their own.
const BEYOND_THE_EDGE = `(function beyond(root) {
  return [...root.querySelectorAll('*:not(pre *, .scroll *)')].flatMap((element) => [
    ...(element.getBoundingClientRect().right > innerWidth + 1 ? [element.outerHTML.slice(0, 200)] : []),
    ...(element.shadowRoot ? beyond(element.shadowRoot) : []),
  ])
})(document)`

suite('pages in a browser', () => {
  let stage: Stage
  let browser: Browser
  let tab: Tab

  beforeAll(async () => {
    ;[stage, browser] = await Promise.all([startStage(), startChromium(chromium!)])
  })
  afterAll(async () => {
    await browser?.close()
    await stage?.stop()
  })
  afterEach(async () => {
    await tab.close()
    expect(tab.complaints).toEqual([])
  })

  const open = async (path: string, screen: { width?: number } = {}) => {
    tab = await openTab(browser, screen)
    await tab.page.goto(stage.system.baseUrl + path)
    return tab.page
  }

  describe.each([{ width: 1280 }, { width: 375 }])('$width pixels wide', (screen) => {
    test.each(PAGES)('%s fits, and axe finds nothing in it, in both themes', async (path) => {
      const page = await open(path, screen)
      const words = REFERENCE[path]
      for (const colorScheme of COLOR_SCHEMES) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        if (words) {
          // The reference fades from one theme to the other.
          await page.reload()
          await page.getByRole('main').getByText(words).filter({ visible: true }).first().waitFor()
        }
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screen.width)
        expect(await page.evaluate(BEYOND_THE_EDGE)).toEqual([])
        expect([colorScheme, await violations(page, colorScheme)]).toEqual([colorScheme, []])
      }
    })
  })

  test('guides are read one after another to the last', async () => {
    const page = await open('/')
    await page.getByRole('main').getByRole('link', { name: 'Guides' }).click()
    const all = page.getByRole('navigation', { name: 'Guides' }).getByRole('link')
    const turn = page.getByRole('navigation', { name: 'Previous and next' })
    await turn.waitFor()
    const titles = await all.allInnerTexts()
    expect(titles).toHaveLength(GUIDES.length)
    for (const title of titles) {
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
      if (title !== titles.at(-1)) await turn.getByRole('link', { name: 'Next' }).click()
    }
    expect(await turn.getByRole('link').allInnerTexts()).toEqual([expect.stringMatching(/^Previous/)])
  })

  test('a block of a guide is copied as it stands', async () => {
    const page = await open('/docs/guides/first-lead')
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const block = page.getByRole('figure').filter({ hasText: '// create-lead.mjs' })
    await block.getByRole('button', { name: 'Copy' }).click()
    await block.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(
      /^\/\/ create-lead\.mjs\nconst response.*\$\{data\.customer\.name\}`\)$/s,
    )
  })

  test('the reference leads to the console', async () => {
    const page = await open('/docs')
    await page.getByRole('link', { name: 'Console', exact: true }).click()
    await page.waitForURL('**/console')
    expect(await page.title()).toMatch(/console/)
  })
})
