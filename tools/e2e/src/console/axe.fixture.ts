import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

export const COLOR_SCHEMES = ['light', 'dark'] as const

/** What axe finds in the page as it is shown. The themes differ in colours, so in the dark one it looks at colours alone. */
export const violations = async (
  page: Page,
  colorScheme: (typeof COLOR_SCHEMES)[number],
): Promise<string[]> => {
  // evaluate() is not bound by the page's policy, which allows no script but the page's own.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  const options = {
    resultTypes: ['violations'],
    ...(colorScheme === 'dark' && { runOnly: ['color-contrast', 'link-in-text-block'] }),
  }
  const found = await page.evaluate<AxeResults>(`axe.run(${JSON.stringify(options)})`)
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
