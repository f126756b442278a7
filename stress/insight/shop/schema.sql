create table settings (name text primary key, value text);
create table customers (id serial primary key, name text, email text unique);
create table products (id serial primary key, sku text unique, name text, price integer, sold integer default 0);
create table orders (
  id serial primary key, customer_id integer, total integer, paid boolean default false, shipped boolean default false
);
create table order_items (id serial primary key, order_id integer, product_id integer, quantity integer);
create table notes (id serial primary key, order_id integer, text text);
create table audit (id serial primary key, kind text, ref integer);
create table payments (id serial primary key, order_id integer, amount integer, receipt text);
create table subscriptions (email text primary key);
insert into settings values ('title', 'North shop'), ('currency', 'EUR');
insert into customers (name, email) select 'Customer ' || n, 'c' || n || '@example.com' from generate_series(1, 40000) n;
insert into products (sku, name, price, sold) select 'sku-' || n, 'Product ' || n, n % 90 + 10, n % 77 from generate_series(1, 1000) n;
insert into orders (customer_id, total) select n % 400 + 1, n % 300 from generate_series(1, 20000) n;
insert into order_items (order_id, product_id, quantity) select n % 20000 + 1, n % 1000 + 1, 1 from generate_series(1, 200000) n;
insert into audit (kind, ref) select 'order', n from generate_series(1, 20000) n;
create index on order_items (order_id);
create index on orders (customer_id);
create index on notes (order_id);
create index on products (name text_pattern_ops);
create index on products (sold);
analyze;
