"""The actions of orms.py by object mappers of Python."""

from datetime import datetime


def email(k):
    return f"a{k}@example.org"


def posts(found):
    return [(p.id, p.author_id, p.title, p.body, p.published, p.views, p.created_at)
            for p in found]


class Client:
    def connect(self, k):
        pass

    def end(self):
        pass


class SQLAlchemy(Client):
    def __init__(self, url, **options):
        import sqlalchemy as sa
        from sqlalchemy import orm

        class Base(orm.DeclarativeBase):
            pass

        class Author(Base):
            __tablename__ = "authors"
            id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
            name: orm.Mapped[str]
            email: orm.Mapped[str]

        class Post(Base):
            __tablename__ = "posts"
            id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
            author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("authors.id"))
            title: orm.Mapped[str]
            body: orm.Mapped[str | None]
            published: orm.Mapped[bool] = orm.mapped_column(server_default=sa.true())
            views: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, server_default="0")
            created_at: orm.Mapped[datetime] = orm.mapped_column(
                sa.DateTime(timezone=True), server_default="2026-01-01")
            author: orm.Mapped[Author] = orm.relationship()

        self.sa, self.orm, self.Author, self.Post = sa, orm, Author, Post
        self.engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), **options)

    def session(self):
        return self.orm.Session(self.engine)

    def connect(self, k):
        with self.engine.connect():
            pass

    def get(self, k):
        with self.session() as s:
            return posts(filter(None, [s.get(self.Post, k)]))

    def unique(self, k):
        with self.session() as s:
            found = s.scalars(self.sa.select(self.Author).filter_by(email=email(k))).one()
            return [found.id, found.name, found.email]

    def list(self, k):
        newest = self.Post.created_at.desc(), self.Post.id.desc()
        with self.session() as s:
            of = self.sa.select(self.Post).filter_by(author_id=k).order_by(*newest).limit(20)
            return posts(s.scalars(of))

    def count(self, k):
        of = self.sa.select(self.sa.func.count()).select_from(self.Post).filter_by(author_id=k)
        with self.session() as s:
            return s.scalar(of)

    def exists(self, k):
        of = self.sa.select(self.sa.exists().where(self.Post.author_id == k))
        with self.session() as s:
            return s.scalar(of)

    def preload(self, k):
        loaded = self.orm.selectinload(self.Post.author)
        of = self.sa.select(self.Post).where(self.Post.id <= 10 * k).order_by(self.Post.id)
        with self.session() as s:
            found = s.scalars(of.options(loaded)).all()
            return [posts(found), [p.author.email for p in found]]

    def insert(self, k):
        with self.session() as s:
            made = self.Post(author_id=k, title="new")
            s.add(made)
            s.commit()
            return made.id

    def update(self, k):
        with self.session() as s:
            found = s.get(self.Post, k)
            found.views, found.title = self.Post.views + 1, "changed"
            s.commit()

    def delete(self, k):
        with self.session() as s:
            s.delete(s.get(self.Post, k))
            s.commit()

    def transaction(self, k):
        with self.session() as s, s.begin():
            return posts([s.get(self.Post, k)])


class Django(Client):
    def __init__(self, url):
        from urllib.parse import urlsplit

        import django
        from django.conf import settings

        at = urlsplit(url)
        settings.configure(USE_TZ=True, DATABASES={"default": {
            "ENGINE": "django.db.backends.postgresql", "NAME": at.path[1:], "USER": at.username,
            "HOST": at.hostname, "PORT": at.port}})
        django.setup()
        from django.db import connection, models, transaction

        class Author(models.Model):
            name = models.TextField()
            email = models.TextField(unique=True)

            class Meta:
                app_label, db_table = "blog", "authors"

        class Post(models.Model):
            author = models.ForeignKey(Author, models.CASCADE)
            title = models.TextField()
            body = models.TextField(null=True)
            published = models.BooleanField(default=True)
            views = models.BigIntegerField(default=0)
            created_at = models.DateTimeField(default=datetime.fromisoformat("2026-01-01T00:00:00Z"))

            class Meta:
                app_label, db_table = "blog", "posts"

        self.Author, self.Post, self.F = Author, Post, models.F
        self.connection, self.atomic = connection, transaction.atomic

    def connect(self, k):
        self.connection.ensure_connection()

    def get(self, k):
        try:
            return posts([self.Post.objects.get(pk=k)])
        except self.Post.DoesNotExist:
            return []

    def unique(self, k):
        found = self.Author.objects.get(email=email(k))
        return [found.id, found.name, found.email]

    def list(self, k):
        return posts(self.Post.objects.filter(author=k).order_by("-created_at", "-id")[:20])

    def count(self, k):
        return self.Post.objects.filter(author=k).count()

    def exists(self, k):
        return self.Post.objects.filter(author=k).exists()

    def preload(self, k):
        found = self.Post.objects.filter(id__lte=10 * k).order_by("id").prefetch_related("author")
        return [posts(found), [p.author.email for p in found]]

    def insert(self, k):
        return self.Post.objects.create(author_id=k, title="new").id

    def update(self, k):
        found = self.Post.objects.get(pk=k)
        found.views, found.title = found.views + 1, "changed"
        found.save()

    def delete(self, k):
        self.Post.objects.get(pk=k).delete()

    def transaction(self, k):
        with self.atomic():
            return self.get(k)
