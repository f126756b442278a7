// Failures of a front end, by name; the page runs the one that its address names. Those of `caused` have their cause on the server.
const other = location.origin.replace('localhost', '127.0.0.1');

function renderTotal(data) {
  document.title = data.order.total;
}

function renderUser(user, label) {
  document.title = label + user.address.city;
}

function load(method, url) {
  const xhr = new XMLHttpRequest();
  xhr.open(method, url);
  return xhr;
}

const caused = {
  async errorBody() {
    const answer = await fetch('/api/refused', { method: 'POST' });
    const data = await answer.json();
    renderTotal(data);
  },
  renamedField() {
    fetch('/api/order')
      .then((answer) => answer.json())
      .then((order) => {
        document.title = order.customer.name;
      });
  },
  async nullField() {
    const order = await (await fetch('/api/order')).json();
    document.title = order.invoice.number;
  },
  async notAList() {
    const page = await (await fetch('/api/order')).json();
    page.lines.map((line) => line.id);
  },
  async textForNumber() {
    const { price } = await (await fetch('/api/order')).json();
    document.title = price.toFixed(2);
  },
  async missingInElement() {
    const list = await (await fetch('/api/list')).json();
    for (const item of list.items) document.title = item.stock.count;
  },
  async emptyList() {
    const { found } = await (await fetch('/api/list')).json();
    document.title = found[0].name;
  },
  xhrField() {
    const xhr = load('GET', '/api/order');
    xhr.onload = () => {
      const body = JSON.parse(xhr.responseText);
      document.title = body.shipping.street;
    };
    xhr.send();
  },
  async argument() {
    const body = await (await fetch('/api/order')).json();
    renderUser(body.buyer, 'Buyer ');
  },
  async latePage() {
    const answer = await fetch('/api/gone');
    await answer.json();
  },
  async empty() {
    const answer = await fetch('/api/empty');
    await answer.json();
  },
  async lateSignIn() {
    const answer = await fetch('/api/private');
    document.title = (await answer.json()).name;
  },
  async cors() {
    await fetch(`${other}/api/order`);
  },
  async corsHeader() {
    await fetch(`${other}/shared/order`, { headers: { authorization: 'Bearer of-nobody' } });
  },
  async corsCookies() {
    await fetch(`${other}/shared/order`, { credentials: 'include' });
  },
  async closed() {
    await fetch('/api/closed');
  },
  async cutOff() {
    const answer = await fetch('/api/cut');
    await answer.json();
  },
  xhrClosed() {
    load('GET', '/api/closed').send();
  },
  async loop() {
    await fetch('/api/loop');
  },
  missingScript() {
    const script = document.createElement('script');
    script.src = '/files/missing.js';
    document.head.append(script);
  },
  pageAsScript() {
    const script = document.createElement('script');
    script.src = '/spa/main.js';
    script.type = 'module';
    document.head.append(script);
  },
  async policyCall() {
    await fetch('https://tracking.example/hit', { method: 'POST' }).catch(() => undefined);
  },
  policyImage() {
    const image = new Image();
    image.src = 'https://images.example/a.png';
  },
};

const own = {
  noElement() {
    document.querySelector('#nothing').value = 1;
  },
  async settings() {
    await (await fetch('/api/order')).json();
    const settings = {};
    document.title = settings.theme.color;
  },
  async stored() {
    await (await fetch('/api/empty')).text();
    JSON.parse(localStorage.getItem('none') ?? '{"a":');
  },
  undefinedName() {
    fetch('/api/order').then(() => undefinedHelper());
  },
  async wrongKind() {
    const order = await (await fetch('/api/order')).json();
    order.lines.first();
  },
  async ownTypo() {
    const order = await (await fetch('/api/order')).json();
    const view = { total: order.price };
    document.title = view.sum.text;
  },
  thrown() {
    fetch('/api/refused', { method: 'POST' }).then(() => {
      throw new Error('The cart is empty');
    });
  },
  rejected() {
    Promise.reject('no reason');
  },
  range() {
    new Array(-1);
  },
  async otherSite() {
    await fetch('http://127.0.0.1:9/nobody');
  },
  lateLog() {
    console.error('Nothing to see', 1);
  },
  async cache() {
    await (await fetch('/api/list')).json();
    const cached = new Map();
    document.title = cached.get('items').length;
  },
  async parameter() {
    await (await fetch('/api/order')).json();
    renderUser({ name: 'nobody' }, '');
  },
};

const name = new URLSearchParams(location.search).get('case');
// A response that is not JSON is reported by no event: the toolbar has to be there first.
const run = () =>
  name.startsWith('late') && document.querySelector('hindsight-toolbar') === null
    ? setTimeout(run, 20)
    : (caused[name] ?? own[name])?.();
run();
