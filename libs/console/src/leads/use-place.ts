import { useEffect, useRef } from 'preact/hooks'
import { renderLinkId } from './lead-table'

interface Place {
  url: string
  top: number
  marked: string | undefined
}

/** Where the user was when they left the queue. */
let left: Place | undefined

/** Whether the browser's Back or Forward has led to the current page, and not a link. */
let cameBack = false
addEventListener('popstate', () => {
  cameBack = true
})
// wouter dispatches these events.
for (const type of ['pushState', 'replaceState'])
  addEventListener(type, () => {
    cameBack = false
  })

const findLinkId = ({ target }: Event): string | undefined =>
  target instanceof Element ? target.closest('a.whole')?.id : undefined

/**
 * Returns to the scroll position and to the marked row when the user comes back to the queue. `url` is the
 * address of the page. Call it in a component that is rendered only with the leads.
 */
export const usePlace = (
  url: string,
  { marked, mark }: { marked: string | undefined; mark: (reference: string) => void },
): void => {
  const place = useRef<Place>({ url, top: 0, marked })
  place.current.url = url
  useEffect(() => {
    const noteTop = () => {
      place.current.top = scrollY
    }
    // A row that the user opens with a click is found again, too.
    const noteRow = (event: Event) => {
      const id = findLinkId(event)
      if (id !== undefined) place.current.marked = id.slice(renderLinkId('').length)
    }
    addEventListener('scroll', noteTop, { passive: true })
    document.addEventListener('click', noteRow, true)
    return () => {
      removeEventListener('scroll', noteTop)
      document.removeEventListener('click', noteRow, true)
      left = place.current
    }
  }, [])
  useEffect(() => {
    place.current.marked = marked
  }, [marked])
  useEffect(() => {
    if (!cameBack || left?.url !== url) return
    scrollTo(0, left.top)
    if (left.marked === undefined) return
    mark(left.marked)
    document.getElementById(renderLinkId(left.marked))?.focus({ preventScroll: true })
  }, [])
}
