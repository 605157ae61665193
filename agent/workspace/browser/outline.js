// Evaluated in a world of its own, which the page's scripts cannot reach. It defines the helpers of
// the outline and returns the function that makes one: numbers begin after `last`.
(() => {
  const h = globalThis.handrail ??= { of: new WeakMap(), all: new Map(), last: 0 };
  const short = (s, n) => { s = (s || '').replace(/\s+/g, ' ').trim(); return s.length > n ? s.slice(0, n - 1) + '…' : s; };
  const quoted = s => JSON.stringify(s);

  h.number = el => {
    let n = h.of.get(el);
    if (!n) { n = ++h.last; h.of.set(el, n); h.all.set(n, new WeakRef(el)); }
    return n;
  };

  const visible = el => el.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  const inputs = { button: 'button', submit: 'button', reset: 'button', image: 'button', checkbox: 'checkbox',
    radio: 'radio', range: 'slider', number: 'number field', search: 'search field', password: 'password field',
    file: 'file field', color: 'color field', date: 'date field' };

  // The role of an element that can be used, or '' for any other.
  const roleOf = el => {
    const role = el.getAttribute('role'), tag = el.localName;
    if (role && /^(button|link|checkbox|radio|switch|tab|menuitem\w*|option|textbox|combobox|slider|searchbox|spinbutton|treeitem)$/.test(role)) return role;
    if (tag === 'a' && el.hasAttribute('href')) return 'link';
    if (tag === 'button' || tag === 'summary') return 'button';
    if (tag === 'input') return el.type === 'hidden' ? '' : inputs[el.type] || 'text field';
    if (tag === 'textarea') return 'text area';
    if (tag === 'select') return 'select';
    if (el.isContentEditable && !el.parentElement?.isContentEditable) return 'text area';
    if (el.hasAttribute('onclick') || el.hasAttribute('tabindex') && el.tabIndex >= 0) return 'clickable';
    if (tag !== 'label' && el.ownerDocument.defaultView.getComputedStyle(el).cursor === 'pointer') {
      const up = el.parentElement;
      if (!up || up.ownerDocument.defaultView.getComputedStyle(up).cursor !== 'pointer') return 'clickable';
    }
    return '';
  };

  const nameOf = el => {
    const by = (el.getAttribute('aria-labelledby') || '').split(/\s+/).map(id => id && el.getRootNode().getElementById?.(id)?.textContent).filter(Boolean).join(' ');
    return short(by || el.getAttribute('aria-label') || (el.labels?.length ? [...el.labels].map(l => l.innerText).join(' ') : '') ||
      (el.localName === 'input' ? (inputs[el.type] === 'button' ? el.value || el.alt || el.type : el.placeholder) :
        el.localName === 'select' || el.localName === 'textarea' ? el.placeholder : el.innerText || el.querySelector('img')?.alt) ||
      el.title || el.getAttribute('name') || '', 80);
  };

  const stateOf = (el, role) => {
    const out = [], aria = n => el.getAttribute('aria-' + n);
    if (role === 'select') out.push('= ' + quoted(short([...el.selectedOptions].map(o => o.text).join(', '), 60)));
    else if (role === 'password field') { if (el.value) out.push(`= ${el.value.length} characters`); }
    else if (/field|area|slider|box/.test(role) && typeof el.value === 'string' && !/check|radio/.test(role)) out.push('= ' + quoted(short(el.value, 80)));
    if (el.checked || aria('checked') === 'true') out.push('checked');
    if (aria('selected') === 'true') out.push('selected');
    if (aria('pressed') === 'true') out.push('pressed');
    if (aria('expanded')) out.push(aria('expanded') === 'true' ? 'expanded' : 'collapsed');
    if (aria('invalid') === 'true') out.push('invalid');
    if (el.matches(':disabled') || aria('disabled') === 'true') out.push('disabled');
    if (el.readOnly) out.push('read-only');
    if (el === el.getRootNode().activeElement) out.push('focused');
    return out;
  };

  const label = el => {
    const cls = typeof el.className === 'string' && el.className.trim().split(/\s+/)[0];
    return el.localName + (el.id ? '#' + short(el.id, 30) : cls ? '.' + short(cls, 30) : '');
  };

  // The element that lies over the middle of another one, if it is neither inside nor around it.
  const coverOf = (el, box) => {
    const x = box.left + box.width / 2, y = box.top + box.height / 2, win = el.ownerDocument.defaultView;
    if (x < 0 || y < 0 || x >= win.innerWidth || y >= win.innerHeight) return '';
    const top = el.getRootNode().elementFromPoint(x, y);
    if (!top || el.contains(top) || top.contains(el) || [...(el.labels || [])].some(l => l.contains(top))) return '';
    return label(top);
  };

  h.outline = (last, max) => {
    h.last = Math.max(h.last, last);
    const lines = [], doc = document.documentElement;
    let text = '', above = 0, below = 0, left = 0;
    const put = line => { if (lines.length < max) lines.push(line); else left++; };
    const flush = () => { const t = short(text, 200); text = ''; if (t) put(t); };
    const seen = (box, dx, dy) => {
      if (!box.width || !box.height) return false;
      if (box.bottom + dy <= 0) { above++; return false; }
      if (box.top + dy >= innerHeight) { below++; return false; }
      return box.right + dx > 0 && box.left + dx < innerWidth;
    };
    const walk = (node, dx, dy) => {
      for (const child of node.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) {
          if (!child.data.trim()) { text += ' '; continue; }
          const range = child.ownerDocument.createRange();
          range.selectNodeContents(child);
          if (seen(range.getBoundingClientRect(), dx, dy)) text += child.data;
          continue;
        }
        if (child.nodeType !== Node.ELEMENT_NODE) continue;
        const tag = child.localName;
        if (/^(script|style|noscript|template|head|datalist)$/.test(tag) || child.getAttribute('aria-hidden') === 'true' && !child.querySelector('a,button,input')) continue;
        const display = child.ownerDocument.defaultView.getComputedStyle(child).display;
        if (display !== 'contents' && !visible(child)) continue;
        const box = child.getBoundingClientRect(), role = roleOf(child);
        if (role) {
          if (!seen(box, dx, dy)) continue;
          flush();
          const name = nameOf(child), cover = coverOf(child, box);
          put([`[${h.number(child)}] ${role}`, name && quoted(name), ...stateOf(child, role), cover && `covered by ${cover}`].filter(Boolean).join(' '));
          if (role === 'clickable' && (child.innerText?.length > 80 || child.querySelector('a[href],button,input,select,textarea'))) walk(child, dx, dy);
          continue;
        }
        if (tag === 'img' || tag === 'canvas' || tag === 'video' || tag === 'svg') {
          if (!seen(box, dx, dy)) continue;
          const alt = short(child.alt || child.getAttribute('aria-label') || child.querySelector?.('title')?.textContent, 80);
          const broken = tag === 'img' && child.complete && !child.naturalWidth;
          if (alt || broken || tag === 'canvas' || tag === 'video') { flush(); put([tag === 'img' ? 'image' : tag, alt && quoted(alt), broken && 'broken'].filter(Boolean).join(' ')); }
          continue;
        }
        if (tag === 'iframe') {
          if (!seen(box, dx, dy)) continue;
          flush();
          let inner = null;
          try { inner = child.contentDocument; } catch { /* of another origin */ }
          put('frame ' + quoted(short(child.title || child.getAttribute('src') || '', 80)) + (inner ? '' : ' of another origin'));
          if (inner?.body) walk(inner.body, dx + box.left, dy + box.top);
          flush();
          continue;
        }
        if (/^h[1-6]$/.test(tag)) {
          flush();
          text = '#'.repeat(+tag[1]) + ' ';
          walk(child, dx, dy);
          if (!text.replace(/#/g, '').trim()) text = '';
          flush();
          continue;
        }
        if (tag === 'td' || tag === 'th') {
          if (text.trim()) text += ' | ';
          walk(child, dx, dy);
          continue;
        }
        const block = !/^(inline|contents)/.test(display) && tag !== 'label';
        if (block) flush();
        if (tag === 'li') text = '- ';
        if (tag === 'dialog' || child.getAttribute('role') === 'dialog' || child.getAttribute('role') === 'alert') put(child.getAttribute('role') === 'alert' ? 'alert:' : 'dialog:');
        walk(child.shadowRoot || child, dx, dy);
        if (text === '- ') text = '';
        if (block) flush();
      }
    };
    if (document.body) walk(document.body, 0, 0);
    flush();
    if (document.body && innerWidth < doc.scrollWidth) put(`(the page is ${doc.scrollWidth} pixels wide, the window ${innerWidth}: it scrolls sideways)`);
    return { url: location.href, title: document.title, lines, above, below: below + left, last: h.last };
  };

  h.find = (ref, selector) => {
    if (ref) return h.all.get(ref)?.deref();
    for (const root of [document, ...[...document.querySelectorAll('iframe')].map(f => { try { return f.contentDocument; } catch { return null; } })]) {
      const el = root?.querySelector(selector);
      if (el) return el;
    }
  };

  // The middle of the visible part of an element, after scrolling to it, or the reason that there is none.
  h.point = (ref, selector) => {
    let el;
    try { el = h.find(ref, selector); } catch { return { why: 'it is no valid CSS selector' }; }
    if (!el?.isConnected) return { why: 'there is no such element on the page now' };
    if (!visible(el)) return { why: 'the element is not visible' };
    let box = el.getBoundingClientRect();
    const { innerWidth: width, innerHeight: height } = el.ownerDocument.defaultView;
    if (box.top < 0 || box.left < 0 || box.bottom > height || box.right > width || coverOf(el, box)) el.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    box = el.getClientRects()[0];
    if (!box?.width || !box.height) return { why: 'the element has no area' };
    const cover = coverOf(el, box);
    let x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2, y = (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2;
    if (el.ownerDocument !== document) {
      x = box.left + box.width / 2; y = box.top + box.height / 2;
      for (let win = el.ownerDocument.defaultView; win !== globalThis && win.frameElement; win = win.parent) {
        const frame = win.frameElement.getBoundingClientRect();
        x += frame.left; y += frame.top;
      }
    }
    const select = el.localName === 'select', file = el.localName === 'input' && el.type === 'file';
    return { x, y, cover, select, file, typed: /^(input|textarea)$/.test(el.localName) || el.isContentEditable };
  };

  // Chooses the options of a select by their texts or values.
  h.choose = (ref, selector, wanted) => {
    const el = h.find(ref, selector), want = wanted.trim().toLowerCase();
    const option = [...el.options].find(o => o.text.trim().toLowerCase() === want || o.value.toLowerCase() === want);
    if (!option) return 'it has no such option, but ' + [...el.options].slice(0, 20).map(o => quoted(short(o.text, 40))).join(', ');
    el.value = option.value;
    el.dispatchEvent(new Event('input', { bubbles: true }));
    el.dispatchEvent(new Event('change', { bubbles: true }));
    return '';
  };

  // Focuses a field and selects its text, so that typing replaces it.
  h.focus = (ref, selector) => {
    const el = h.find(ref, selector);
    el.focus();
    if (el.select) el.select(); else el.ownerDocument.getSelection()?.selectAllChildren(el);
  };

  h.size = () => ({ width: innerWidth, height: innerHeight });

  h.drawn = () => new Promise(done => {
    setTimeout(done, 500);
    requestAnimationFrame(() => requestAnimationFrame(done));
  });
  return true;
})()
