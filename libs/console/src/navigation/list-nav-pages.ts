import type { Scope } from '../api'
import { NAV_GROUPS, PAGES, type Page } from '../pages'

/** A page that the navigation lists. */
export type NavPage = Page & { nav: NonNullable<Page['nav']> }

const isListed = (page: Page): page is NavPage => page.nav !== undefined

/** Returns the pages of the navigation that the scopes allow. */
export const listNavPages = (held: Set<Scope>): NavPage[] =>
  PAGES.filter(isListed).filter(({ scopes }) => scopes.some((scope) => held.has(scope)))

export interface NavGroup {
  name: NavPage['nav']['group']
  pages: NavPage[]
}

/** Returns the groups of the navigation with the pages that the scopes allow. Omits empty groups. */
export const listNavGroups = (held: Set<Scope>): NavGroup[] => {
  const all = listNavPages(held)
  return NAV_GROUPS.map((name) => ({ name, pages: all.filter(({ nav }) => nav.group === name) })).filter(
    ({ pages }) => pages.length > 0,
  )
}
