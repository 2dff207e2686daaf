import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { SCREENS, violations } from '../../support/axe'
import { clickForText, findChromium, openTab, startChromium, type Tab } from '../../support/chromium'
import { joinStage, type SharedStage } from '../../support/stage'

const GUIDES = readdirSync(resolve(__dirname, '../../../../docs/guides')).map((file) =>
  file.replace('.md', ''),
)
const REFERENCE: Record<string, string> = {
  '/docs': 'Stores sales leads',
  '/docs#?route=post-/leads': 'Creates a lead with',
}
const PAGES = ['/', '/problems', ...Object.keys(REFERENCE), ...GUIDES.map((name) => `/docs/guides/${name}`)]

const chromium = findChromium()
const suite = chromium ? describe : describe.skip
if (!chromium) {
  console.warn('SKIPPED: the specs of pages. No Chromium was found: set CHROMIUM_BIN, or put it on PATH.')
}

// Returns the elements beyond the right edge of the screen. The API reference page clips such elements in its
// shadow roots, so the width of the page would not reveal them. Skips code and tables, which scroll
// separately.
const BEYOND_THE_EDGE = `(function beyond(root) {
  return [...root.querySelectorAll('*:not(pre *, .scroll *)')].flatMap((element) => [
    ...(element.getBoundingClientRect().right > innerWidth + 1 ? [element.outerHTML.slice(0, 200)] : []),
    ...(element.shadowRoot ? beyond(element.shadowRoot) : []),
  ])
})(document)`

suite('pages in a browser', () => {
  let stage: SharedStage
  let browser: Browser
  let tab: Tab

  beforeAll(async () => {
    ;[stage, browser] = await Promise.all([joinStage(), startChromium(chromium!)])
  })
  afterAll(async () => {
    await browser?.close()
    await stage?.stop()
  })
  afterEach(() => expect(tab.complaints.splice(0)).toEqual([]))

  const open = async (path: string) => {
    await tab.page.goto(stage.system.baseUrl + path)
    return tab.page
  }

  describe.each(SCREENS)('$width pixels wide, $colorScheme', (screen) => {
    beforeAll(async () => {
      tab = await openTab(browser, screen)
    })
    afterAll(() => tab.close())

    test.each(PAGES)('%s fits, and axe finds nothing in it', async (path) => {
      const page = await open(path)
      const words = REFERENCE[path]
      if (words) await page.getByRole('main').getByText(words).filter({ visible: true }).first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screen.width)
      expect(await page.evaluate(BEYOND_THE_EDGE)).toEqual([])
      expect(await violations(page)).toEqual([])
    })
  })

  describe('in a separate tab', () => {
    beforeEach(async () => {
      tab = await openTab(browser)
    })
    afterEach(() => tab.close())

    test('the links lead through all guides', async () => {
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
      await page.waitForLoadState()
      expect(await turn.getByRole('link').allInnerTexts()).toEqual([expect.stringMatching(/^Previous/)])
    })

    test('a block of a guide is copied unchanged', async () => {
      const page = await open('/docs/guides/first-lead')
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      const block = page.getByRole('figure').filter({ hasText: '// create-lead.mjs' })
      await clickForText(page, block.getByRole('button', { name: 'Copy' }), 'Copied')
      expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(
        /^\/\/ create-lead\.mjs\nconst response.*\$\{data\.customer\.name\}`\)$/s,
      )
    })

    test('the reference links to the console', async () => {
      const page = await open('/docs')
      await page.getByRole('link', { name: 'Console', exact: true }).click()
      await page.waitForURL('**/console')
      expect(await page.title()).toMatch(/console/)
    })
  })
})
